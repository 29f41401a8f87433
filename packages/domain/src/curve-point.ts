/** Pure arithmetic on public keys, which are known to everybody: nothing here needs to take a constant time. */

/** FIPS 186-5 and SP 800-186 §3.2.1.3: y² = x³ − 3x + b over the prime p. */
const P256 = {
  p: 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn,
  b: 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn,
}

/** RFC 8032 §5.1: −x² + y² = 1 + dx²y² over the prime 2^255 − 19. */
const ED25519_P = 2n ** 255n - 19n
const ED25519_D = 0x52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3n

/** @param x and y 32 bytes each, the greatest first (RFC 7518 §6.2.1) */
export function isOnP256(x: Uint8Array, y: Uint8Array): boolean {
  const { p, b } = P256
  const [across, up] = [fromBytes(x), fromBytes(y)]
  return across < p && up < p && (up * up - (across ** 3n - 3n * across + b)) % p === 0n
}

/**
 * @param encoded 32 bytes as RFC 8032 §5.1.2 writes a point
 * @returns false also for the eight points of small order, under which anybody can sign
 */
export function isOnEd25519(encoded: Uint8Array): boolean {
  const p = ED25519_P
  const number = fromBytes(encoded.toReversed())
  const sign = number >> 255n
  const y = number & (2n ** 255n - 1n)
  if (y >= p) return false
  const xx = squareOfX(y)
  const isSquare = xx === 0n ? sign === 0n : power(xx, (p - 1n) / 2n, p) === 1n
  return isSquare && doubled(doubled(doubled(y))) !== 1n
}

const squareOfX = (y: bigint): bigint => divided(y * y - 1n, ED25519_D * y * y + 1n)

/** The y of twice the point; x is not needed, since only its square counts. */
function doubled(y: bigint): bigint {
  const [xx, yy] = [squareOfX(y), y * y]
  return divided(yy + xx, 1n - ED25519_D * xx * yy)
}

const divided = (dividend: bigint, divisor: bigint): bigint =>
  modulo(dividend * power(modulo(divisor, ED25519_P), ED25519_P - 2n, ED25519_P), ED25519_P)

const modulo = (value: bigint, p: bigint): bigint => ((value % p) + p) % p

function power(base: bigint, exponent: bigint, p: bigint): bigint {
  let result = 1n
  let square = base % p
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * square) % p
    square = (square * square) % p
  }
  return result
}

const fromBytes = (bytes: Uint8Array): bigint =>
  bytes.reduce((number, byte) => (number << 8n) | BigInt(byte), 0n)
