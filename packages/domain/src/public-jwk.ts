import { z } from 'zod'

/** Names by which an assertion is signed (RFC 7518 §3.1, RFC 8037, RFC 9864); the last two are the same. */
export const ASSERTION_ALGORITHMS = ['ES256', 'EdDSA', 'Ed25519'] as const

export const MAX_AGENT_KEYS = 3

/** Names a key (RFC 7517 §4.5): 1 to 128 printable ASCII characters. */
const KeyId = z.string().regex(/^[\x21-\x7E]{1,128}$/, 'must be 1 to 128 printable ASCII characters')

const SEND = 'Send {"kty":"EC","crv":"P-256","x","y"} or {"kty":"OKP","crv":"Ed25519","x"}'

/** Members of RFC 7518 §6 and RFC 8037 that only who may sign knows. */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
/** What would have us fetch or believe something else than the key (RFC 7517 §4.6 to §4.9). */
const FOREIGN_MEMBERS = ['x5u', 'x5c', 'x5t', 'x5t#S256', 'jku']

/** A public key as it is sent (RFC 7517); what it does not know, such as `ext`, is ignored. */
const SentJwk = z
  .looseObject({
    kty: z.string().meta({ description: '`EC` or `OKP`.' }),
    crv: z.string().meta({ description: '`P-256` or `Ed25519`.' }),
    x: z.string().meta({ description: '32 bytes, base64url.' }),
    y: z.string().nullish().meta({ description: '32 bytes, base64url; for P-256 only.' }),
    kid: KeyId.nullish().meta({ description: 'The thumbprint of the key (RFC 7638) when absent.' }),
    alg: z.string().nullish().meta({ description: '`ES256` for P-256; `EdDSA` or `Ed25519` for Ed25519.' }),
    use: z.string().nullish().meta({ description: '`sig` when present.' }),
    key_ops: z.array(z.string()).max(10).nullish().meta({ description: 'Holds `verify` when present.' }),
  })
  .superRefine((key, ctx) => {
    for (const { path, message } of mistakesIn(key)) ctx.addIssue({ code: 'custom', path: [path], message })
  })
type SentJwk = z.infer<typeof SentJwk>

/** A set of keys as it is sent (RFC 7517 §5): inline only, one to three. */
export const SentJwks = z.object({
  keys: z
    .array(SentJwk)
    .min(1, 'must hold 1 to 3 public keys')
    .max(MAX_AGENT_KEYS, 'must hold 1 to 3 public keys')
    .meta({ description: 'One to three public keys, P-256 or Ed25519.' }),
})

const algorithm = z.enum(ASSERTION_ALGORITHMS)
/** A key of an agent, as it is kept and shown. */
export const AgentKey = z.object({
  kty: z.enum(['EC', 'OKP']),
  crv: z.enum(['P-256', 'Ed25519']),
  x: z.string(),
  y: z.string().optional(),
  kid: z.string().meta({ description: 'Send it in the header of an assertion.' }),
  alg: algorithm.meta({ description: 'What assertions are signed with.' }),
  use: z.literal('sig'),
})
export type AgentKey = Readonly<z.infer<typeof AgentKey>>

/** @param kid the one that was sent, or the key's thumbprint */
export const agentKey = (sent: SentJwk, kid: string): AgentKey =>
  AgentKey.parse({
    kty: sent.kty,
    crv: sent.crv,
    x: sent.x,
    ...(sent.kty === 'EC' && { y: sent.y }),
    kid,
    alg: sent.alg ?? (sent.kty === 'EC' ? 'ES256' : 'EdDSA'),
    use: 'sig',
  })

type Mistake = { path: string; message: string }

function mistakesIn(key: SentJwk): Mistake[] {
  const has = (name: string) => Object.hasOwn(key, name)
  const unwanted: Mistake[] = [
    ...PRIVATE_MEMBERS.filter(has).map((path) => ({
      path,
      message: `is secret: make a new key pair, and send its public half only. ${SEND}`,
    })),
    ...FOREIGN_MEMBERS.filter(has).map((path) => ({ path, message: `is not read here. ${SEND}` })),
  ]
  if (unwanted.length > 0) return unwanted
  const curve = CURVES.find(({ kty, crv }) => kty === key.kty && crv === key.crv)
  if (!curve) return [{ path: 'crv', message: `is of no key that is taken. ${SEND}` }]
  return [
    ...curve.mistakes(key),
    ...(key.alg && !curve.algorithms.includes(key.alg)
      ? [{ path: 'alg', message: `must be ${curve.algorithms.join(' or ')} for ${curve.crv}, or left out` }]
      : []),
    ...(key.use && key.use !== 'sig' ? [{ path: 'use', message: 'must be sig, or left out' }] : []),
    ...(key.key_ops && !key.key_ops.includes('verify')
      ? [{ path: 'key_ops', message: 'must hold verify, or be left out' }]
      : []),
  ]
}

const CURVES = [
  {
    kty: 'EC',
    crv: 'P-256',
    algorithms: ['ES256'],
    mistakes({ x, y }: SentJwk): Mistake[] {
      const [across, up] = [coordinate(x), coordinate(y)]
      if (!across || !up) return [{ path: across ? 'y' : 'x', message: 'must be 32 bytes as base64url' }]
      return isOnP256(across, up) ? [] : [{ path: 'x', message: 'and y are no point of P-256' }]
    },
  },
  {
    kty: 'OKP',
    crv: 'Ed25519',
    algorithms: ['EdDSA', 'Ed25519'],
    mistakes({ x, y }: SentJwk): Mistake[] {
      const point = coordinate(x)
      if (y != null) return [{ path: 'y', message: 'is no part of an Ed25519 key; leave it out' }]
      if (!point) return [{ path: 'x', message: 'must be 32 bytes as base64url' }]
      return isOnEd25519(point) ? [] : [{ path: 'x', message: 'is no usable point of Ed25519' }]
    },
  },
]

/** 32 bytes in the one way in which base64url writes them. */
function coordinate(text: string | null | undefined): Buffer | undefined {
  if (!text || !/^[A-Za-z0-9_-]{43}$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

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
