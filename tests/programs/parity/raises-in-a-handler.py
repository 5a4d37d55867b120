class Broken(Exception):
    pass


try:
    {}["missing"]
except KeyError as error:
    raise Broken("with a cause: ü €") from error
