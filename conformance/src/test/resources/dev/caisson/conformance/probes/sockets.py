# Tries kinds of sockets and prints for each its name and the errno, 0 when it can be made.
import socket

NETLINK = ["route", "", "usersock", "firewall", "sock_diag", "nflog", "xfrm", "selinux", "iscsi", "audit", "fib_lookup",
           "connector", "netfilter", "", "", "uevent", "generic", "", "scsi", "ecryptfs", "rdma", "crypto", "smc"]
KINDS = [("unix", 1, 1, 0), ("tcp", 2, 1, 0), ("udp", 2, 2, 0), ("netlink_route", 16, 3, 0),
         ("raw_icmp", 2, 3, 1), ("raw_tcp", 2, 3, 6), ("raw_udp", 2, 3, 17), ("ping", 2, 2, 1), ("udplite", 2, 2, 136),
         ("mptcp", 2, 1, 262), ("sctp", 2, 1, 132), ("sctp_seq", 2, 5, 132), ("dccp", 2, 6, 33), ("l2tp", 2, 2, 115),
         ("inet_packet", 2, 10, 3), ("packet", 17, 3, 768), ("packet_dgram", 17, 2, 768), ("packet_old", 17, 10, 768),
         ("alg", 38, 5, 0), ("vsock", 40, 1, 0), ("vsock_dgram", 40, 2, 0), ("key", 15, 3, 2), ("rds", 21, 5, 0),
         ("tipc", 30, 1, 0), ("can", 29, 3, 1), ("bluetooth", 31, 3, 1), ("xdp", 44, 3, 0), ("smc", 43, 1, 0),
         ("ax25", 3, 5, 0), ("ipx", 4, 2, 0), ("appletalk", 5, 2, 0), ("netrom", 6, 5, 0), ("x25", 9, 5, 0),
         ("rose", 11, 5, 0), ("pppox", 24, 1, 0), ("llc", 26, 1, 0), ("ieee802154", 36, 3, 0), ("caif", 37, 1, 0),
         ("phonet", 35, 2, 0), ("nfc", 39, 5, 1), ("kcm", 41, 2, 0), ("qipcrtr", 42, 2, 0), ("mctp", 45, 2, 0),
         ("rxrpc", 33, 2, 2), ("isdn", 34, 3, 0), ("inet6_raw", 10, 3, 58), ("inet6_mptcp", 10, 1, 262)]
KINDS += [("netlink_" + name, 16, 3, number) for number, name in enumerate(NETLINK) if name and number]

for name, family, kind, protocol in KINDS:
    # The kernel takes flags in the type and cuts the family to 32 bits: a filter must as well.
    for suffix, flags in ("", 0), ("_cloexec", socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK):
        try:
            socket.socket(family, kind | flags, protocol).close()
            print(name + suffix, 0)
        except OSError as error:
            print(name + suffix, error.errno)
