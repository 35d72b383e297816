// ./caisson run examples/Hello.java
public class Hello {
    public static void main(String[] args) {
        System.out.println("Hello from Java " + Runtime.version().feature() + ", inside a sandbox.");
        System.out.println(
                "I see "
                        + Runtime.getRuntime().availableProcessors()
                        + " processor and a heap of at most "
                        + Runtime.getRuntime().maxMemory() / (1024 * 1024)
                        + " MiB.");
    }
}
