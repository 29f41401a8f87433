import { ed25519 } from '@noble/curves/ed25519.js'
import { p256 } from '@noble/curves/nist.js'
import { z } from 'zod'
import { RULES } from './rules.ts'

/** The signature algorithms of assertions (RFC 7518 §3.1, RFC 8037, RFC 9864). For an Ed25519 key, the last two are the same. */
export const ASSERTION_ALGORITHMS = ['ES256', 'EdDSA', 'Ed25519'] as const

const KEY_COUNT_MESSAGE = `must hold 1 to ${RULES.agentKeys} public keys`

/** The id of a key (RFC 7517 §4.5): 1 to 128 printable ASCII characters. */
const KeyId = z.string().regex(/^[\x21-\x7E]{1,128}$/, 'must be 1 to 128 printable ASCII characters')

const SEND_HINT = 'Send {"kty":"EC","crv":"P-256","x","y"} or {"kty":"OKP","crv":"Ed25519","x"}'

/** The private members of a key (RFC 7518 §6, RFC 8037). */
export const PRIVATE_JWK_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
/** Members that refer to a certificate (RFC 7517 §4.6 to §4.9) or a key set. A key with one of them is rejected. */
const FOREIGN_MEMBERS = ['x5u', 'x5c', 'x5t', 'x5t#S256', 'jku']

/** A public key in a request (RFC 7517). Unknown members, such as `ext`, are ignored. */
export const SentJwk = z
  .looseObject({
    kty: z.string().meta({ description: '`EC` or `OKP`.' }),
    crv: z.string().meta({ description: '`P-256` or `Ed25519`.' }),
    x: z.string().meta({ description: '32 bytes, base64url.' }),
    y: z.string().nullish().meta({ description: '32 bytes, base64url; for P-256 only.' }),
    kid: KeyId.nullish().meta({ description: 'If absent, the thumbprint of the key (RFC 7638).' }),
    alg: z.string().nullish().meta({ description: '`ES256` for P-256; `EdDSA` or `Ed25519` for Ed25519.' }),
    use: z.string().nullish(),
    key_ops: z.array(z.string()).max(10).nullish(),
  })
  .superRefine((key, ctx) => {
    for (const { path, message } of findMistakes(key)) ctx.addIssue({ code: 'custom', path: [path], message })
  })
export type SentJwk = z.infer<typeof SentJwk>

/** A key set in a request (RFC 7517 §5). */
export const SentJwks = z.object({
  keys: z
    .array(SentJwk)
    .min(1, KEY_COUNT_MESSAGE)
    .max(RULES.agentKeys, KEY_COUNT_MESSAGE)
    .meta({ description: 'Public keys, P-256 or Ed25519.' }),
})

const algorithm = z.enum(ASSERTION_ALGORITHMS)
/** An agent's key, as it is stored and returned. */
export const AgentKey = z.object({
  kty: z.enum(['EC', 'OKP']),
  crv: z.enum(['P-256', 'Ed25519']),
  x: z.string(),
  y: z.string().optional(),
  kid: z.string().meta({ description: 'Goes into the header of an assertion.' }),
  alg: algorithm.meta({ description: 'The signature algorithm of assertions.' }),
  use: z.literal('sig'),
})
export type AgentKey = Readonly<z.infer<typeof AgentKey>>

/**
 * Creates the stored form of a key.
 *
 * @param kid the id from the request, or the thumbprint of the key
 */
export const toAgentKey = (sent: SentJwk, kid: string): AgentKey =>
  AgentKey.parse({
    kty: sent.kty,
    crv: sent.crv,
    x: sent.x,
    ...(sent.kty === 'EC' && { y: sent.y }),
    kid,
    alg: sent.alg ?? (sent.kty === 'EC' ? 'ES256' : 'EdDSA'),
    use: 'sig',
  })

/** Mentions zero bytes because some libraries, such as older releases of PyJWT, omit them. About one P-256 key in 128 has some. */
const COORDINATE_MESSAGE = 'must be 32 bytes as base64url, leading zero bytes included (RFC 7518 §6.2.1.2)'

type Mistake = { path: string; message: string }

function findMistakes(key: SentJwk): Mistake[] {
  const hasMember = (name: string) => Object.hasOwn(key, name)
  const forbiddenMembers: Mistake[] = [
    ...PRIVATE_JWK_MEMBERS.filter(hasMember).map((path) => ({
      path,
      message: `is secret: make a new key pair, and send its public half only. ${SEND_HINT}`,
    })),
    ...FOREIGN_MEMBERS.filter(hasMember).map((path) => ({ path, message: `is not read here. ${SEND_HINT}` })),
  ]
  if (forbiddenMembers.length > 0) return forbiddenMembers
  const curve = CURVES.find(({ kty, crv }) => kty === key.kty && crv === key.crv)
  if (!curve) return [{ path: 'crv', message: `is of no key that is taken. ${SEND_HINT}` }]
  return [
    ...curve.findMistakes(key),
    ...(key.alg != null && !curve.algorithms.includes(key.alg)
      ? [{ path: 'alg', message: `must be ${curve.algorithms.join(' or ')} for ${curve.crv}, or left out` }]
      : []),
    ...(key.use != null && key.use !== 'sig' ? [{ path: 'use', message: 'must be sig, or left out' }] : []),
    ...(key.key_ops && !key.key_ops.includes('verify')
      ? [{ path: 'key_ops', message: 'must hold verify, or be left out' }]
      : []),
  ]
}

/** The key types that are accepted. */
const CURVES = [
  {
    kty: 'EC',
    crv: 'P-256',
    algorithms: ['ES256'],
    findMistakes({ x, y }: SentJwk): Mistake[] {
      const [xBytes, yBytes] = [decodeCoordinate(x), decodeCoordinate(y)]
      if (!xBytes || !yBytes) return [{ path: xBytes ? 'y' : 'x', message: COORDINATE_MESSAGE }]
      return isOnP256(xBytes, yBytes) ? [] : [{ path: 'x', message: 'and y are no point of P-256' }]
    },
  },
  {
    kty: 'OKP',
    crv: 'Ed25519',
    algorithms: ['EdDSA', 'Ed25519'],
    findMistakes({ x, y }: SentJwk): Mistake[] {
      const point = decodeCoordinate(x)
      if (y != null) return [{ path: 'y', message: 'is no part of an Ed25519 key; leave it out' }]
      if (!point) return [{ path: 'x', message: 'must be 32 bytes as base64url' }]
      return isOnEd25519(point) ? [] : [{ path: 'x', message: 'is no usable point of Ed25519' }]
    },
  },
]

/** Decodes 32 bytes in the canonical base64url encoding. */
function decodeCoordinate(text: string | null | undefined): Buffer | undefined {
  if (!text || !/^[A-Za-z0-9_-]{43}$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

/**
 * Returns true if a point is on the curve P-256.
 *
 * @param x 32 bytes, big-endian (RFC 7518 §6.2.1), like `y`
 */
export const isOnP256 = (x: Uint8Array, y: Uint8Array): boolean =>
  p256.utils.isValidPublicKey(Uint8Array.of(0x04, ...x, ...y), false)

/**
 * Returns true if a point is a usable public key on Ed25519. Excludes the eight points of small order, for which anybody can forge
 * signatures.
 *
 * @param encoded a point as 32 bytes (RFC 8032 §5.1.2)
 */
export const isOnEd25519 = (encoded: Uint8Array): boolean =>
  ed25519.utils.isValidPublicKey(encoded, false) && !ed25519.Point.fromBytes(encoded).isSmallOrder()
