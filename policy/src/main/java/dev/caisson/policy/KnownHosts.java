package dev.caisson.policy;

import java.util.Set;

/** Hosts that a policy should not open without a thought. Names of the public internet. */
final class KnownHosts {
    /** Under these anyone can have a name, or a bucket or an application behind one, today. */
    private static final Set<String> RENTED =
            Set.of(
                    ("github.io gitlab.io githubpreview.dev app.github.dev blob.core.windows.net"
                         + " file.core.windows.net web.core.windows.net azurewebsites.net"
                         + " azureedge.net azurefd.net azurestaticapps.net cloudapp.net"
                         + " cloudapp.azure.com trafficmanager.net servicebus.windows.net"
                         + " s3.amazonaws.com amazonaws.com execute-api.amazonaws.com"
                         + " elasticbeanstalk.com elb.amazonaws.com cloudfront.net awsapprunner.com"
                         + " amplifyapp.com on.aws lambda-url.on.aws storage.googleapis.com"
                         + " googleapis.com appspot.com run.app cloudfunctions.net web.app"
                         + " firebaseapp.com firebaseio.com googleusercontent.com vercel.app now.sh"
                         + " netlify.app pages.dev workers.dev r2.dev r2.cloudflarestorage.com"
                         + " trycloudflare.com cloudflarestorage.com herokuapp.com herokudns.com"
                         + " onrender.com fly.dev up.railway.app railway.app deno.dev replit.app"
                         + " repl.co glitch.me surge.sh digitaloceanspaces.com ondigitalocean.app"
                         + " linodeobjects.com backblazeb2.com wasabisys.com ngrok.io ngrok.app"
                         + " ngrok-free.app ngrok.dev loca.lt serveo.net localhost.run"
                         + " tunnelmole.net ts.net pagekite.me bore.pub supabase.co hf.space"
                         + " streamlit.app gradio.live modal.run myshopify.com wordpress.com"
                         + " blogspot.com tumblr.com wixsite.com webflow.io notion.site b-cdn.net"
                         + " fastly.net edgekey.net akamaized.net translate.goog cdn.ampproject.org"
                         + " duckdns.org no-ip.org ddns.net nip.io sslip.io xip.io oastify.com"
                         + " interact.sh burpcollaborator.net requestcatcher.com m.pipedream.net"
                         + " webhook.site")
                            .split(" ", -1));

    /** Hosts where anyone can leave or fetch a file by a path. */
    private static final Set<String> FILES =
            Set.of(
                    ("raw.githubusercontent.com gist.githubusercontent.com gist.github.com"
                                    + " objects.githubusercontent.com s3.amazonaws.com"
                                    + " storage.googleapis.com pastebin.com paste.rs hastebin.com"
                                    + " dpaste.com transfer.sh file.io 0x0.st filebin.net gofile.io"
                                    + " catbox.moe files.catbox.moe drive.google.com"
                                    + " docs.google.com www.dropbox.com content.dropboxapi.com"
                                    + " webhook.site requestbin.com api.telegram.org discord.com"
                                    + " hooks.slack.com")
                            .split(" ", -1));

    /** DNS over HTTPS: names leave by them, and answers come that no table has seen. */
    private static final Set<String> DOH =
            Set.of(
                    ("dns.google cloudflare-dns.com one.one.one.one mozilla.cloudflare-dns.com"
                                    + " chrome.cloudflare-dns.com security.cloudflare-dns.com"
                                    + " family.cloudflare-dns.com dns.quad9.net dns9.quad9.net"
                                    + " dns10.quad9.net dns11.quad9.net doh.opendns.com"
                                    + " dns.adguard-dns.com dns.nextdns.io doh.cleanbrowsing.org"
                                    + " dns.alidns.com doh.pub dns.mullvad.net doh.dns.sb")
                            .split(" ", -1));

    private KnownHosts() {}

    /** Whether anyone can rent a name that the pattern matches. */
    static boolean rented(HostPattern pattern) {
        String name = pattern.name().value();
        // *.example.github.io is one tenant's; *.io and *.s3.eu-west-1.amazonaws.com are not.
        return pattern.below()
                && (RENTED.contains(name)
                        || name.endsWith(".amazonaws.com")
                        || name.endsWith(".core.windows.net")
                        || RENTED.stream().anyMatch(known -> known.endsWith("." + name)));
    }

    static boolean files(HostPattern pattern) {
        return !pattern.below() && FILES.contains(pattern.name().value());
    }

    static boolean doh(HostPattern pattern) {
        return pattern.below()
                ? DOH.stream().anyMatch(known -> known.endsWith("." + pattern.name()))
                : DOH.contains(pattern.name().value());
    }
}
