# ./caisson run examples/hello.py
import getpass
import os
import platform

print(f"Hello from Python {platform.python_version()}, inside a sandbox.")
print(f"I am {getpass.getuser()} on {platform.node()}, working in {os.getcwd()}.")
print(f"I see {len([p for p in os.listdir('/proc') if p.isdigit()])} processes.")
