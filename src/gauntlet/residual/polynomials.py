"""Polynomials over GF(2) as whole numbers: bit i is the coefficient of x^i."""


def degree(of: int) -> int:
    """The degree; −1 of nothing."""
    return of.bit_length() - 1


def divided(what: int, by: int) -> tuple[int, int]:
    """Quotient and remainder."""
    quotient = 0
    while degree(what) >= degree(by):
        shift = degree(what) - degree(by)
        quotient |= 1 << shift
        what ^= by << shift
    return quotient, what


def factors(of: int) -> dict[int, int]:
    """The irreducible factors, each with how often it divides; by trial, so up to a degree of about 40."""
    found: dict[int, int] = {}
    tried = 2
    while 2 * degree(tried) <= degree(of):
        quotient, rest = divided(of, tried)
        if rest:
            tried += 1
            continue
        found[tried] = found.get(tried, 0) + 1
        of = quotient
    if of > 1:
        found[of] = found.get(of, 0) + 1
    return found


def order(of: int) -> int:
    """The least n > 0 with x^n = 1 modulo the polynomial: the period of what its shift register gives."""
    powers = factors(of)
    period = 1
    for factor, times in powers.items():
        full = 1 << (times - 1).bit_length()
        period = _common(period, _order_of_irreducible(factor) * full)
    return period


def _order_of_irreducible(of: int) -> int:
    """A divisor of 2^degree − 1; the least one for which x^n is 1."""
    n = (1 << degree(of)) - 1
    for prime in _primes(n):
        while n % prime == 0 and _power_of_x(n // prime, of) == 1:
            n //= prime
    return n


def _power_of_x(exponent: int, modulo: int) -> int:
    result, base = 1, divided(2, modulo)[1]
    while exponent:
        if exponent & 1:
            result = _product(result, base, modulo)
        base = _product(base, base, modulo)
        exponent >>= 1
    return result


def _product(one: int, other: int, modulo: int) -> int:
    whole = 0
    while other:
        if other & 1:
            whole ^= one
        one <<= 1
        other >>= 1
    return divided(whole, modulo)[1]


def _primes(of: int) -> list[int]:
    found, tried = [], 2
    while tried * tried <= of:
        if of % tried == 0:
            found.append(tried)
            while of % tried == 0:
                of //= tried
        tried += 1
    return [*found, of] if of > 1 else found


def _common(one: int, other: int) -> int:
    a, b = one, other
    while b:
        a, b = b, a % b
    return one // a * other
