import faulthandler
import resource

resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
print("before")
faulthandler._stack_overflow()
