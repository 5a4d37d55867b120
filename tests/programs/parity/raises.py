def outer(number):
    return inner(number) + 1


def inner(number):
    return 1 / number


print("before")
outer(0)
