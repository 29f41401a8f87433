import { ed25519 } from '@noble/curves/ed25519.js'
import { p256 } from '@noble/curves/nist.js'
import { z } from 'zod'
import { RULES } from './rules.ts'

/** The signature algorithms of assertions (RFC 7518 §3.1, RFC 8037, RFC 9864). The last two are the same algorithm. */
export const ASSERTION_ALGORITHMS = ['ES256', 'EdDSA', 'Ed25519'] as const

const COUNT = `must hold 1 to ${RULES.agentKeys} public keys`

/** The id of a key (RFC 7517 §4.5): 1 to 128 printable ASCII characters. */
const KeyId = z.string().regex(/^[\x21-\x7E]{1,128}$/, 'must be 1 to 128 printable ASCII characters')

const SEND = 'Send {"kty":"EC","crv":"P-256","x","y"} or {"kty":"OKP","crv":"Ed25519","x"}'

/** The private members of a key (RFC 7518 §6, RFC 8037). */
export const PRIVATE_JWK_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
/** Members that refer to a certificate (RFC 7517 §4.6 to §4.9) or a key set: we neither fetch nor trust those. */
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
    for (const { path, message } of mistakesIn(key)) ctx.addIssue({ code: 'custom', path: [path], message })
  })
export type SentJwk = z.infer<typeof SentJwk>

/** A set of keys in a request (RFC 7517 §5): inline only. */
export const SentJwks = z.object({
  keys: z
    .array(SentJwk)
    .min(1, COUNT)
    .max(RULES.agentKeys, COUNT)
    .meta({ description: 'Public keys, P-256 or Ed25519.' }),
})

const algorithm = z.enum(ASSERTION_ALGORITHMS)
/** A key of an agent, as it is stored and returned. */
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

/** @param kid the id that was sent, or the thumbprint of the key */
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
    ...PRIVATE_JWK_MEMBERS.filter(has).map((path) => ({
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

/** 32 bytes in the canonical base64url encoding. */
function coordinate(text: string | null | undefined): Buffer | undefined {
  if (!text || !/^[A-Za-z0-9_-]{43}$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

/** @param x and y 32 bytes each, big-endian (RFC 7518 §6.2.1) */
export const isOnP256 = (x: Uint8Array, y: Uint8Array): boolean =>
  p256.utils.isValidPublicKey(Uint8Array.of(0x04, ...x, ...y), false)

/**
 * @param encoded a point as 32 bytes (RFC 8032 §5.1.2)
 * @returns false also for the eight points of small order, for which anybody can forge signatures
 */
export const isOnEd25519 = (encoded: Uint8Array): boolean =>
  ed25519.utils.isValidPublicKey(encoded, false) && !ed25519.Point.fromBytes(encoded).isSmallOrder()
