# ./caisson run examples/hello.sh
echo "Hello from a shell, inside a sandbox."
echo "I am $(id -un) on $(uname -n), working in $(pwd)."
