import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const YEARS = 10
const TAG = { integer: 0x02, bits: 0x03, octets: 0x04, utf8: 0x0c, time: 0x17, list: 0x30, set: 0x31 }
/** The tag of `[number]` in the ASN.1 of RFC 5280: constructed, or primitive if `isConstructed` is false. */
const toContextTag = (number: number, isConstructed = true) => (isConstructed ? 0xa0 : 0x80) + number

/** Object identifiers in DER: the signature algorithm (RFC 5758 §3.2), and an attribute and an extension (RFC 5280). */
const ECDSA_WITH_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex')
const COMMON_NAME = Buffer.from('0603550403', 'hex')
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex')

/**
 * Creates a key and a self-signed certificate (RFC 5280) for one host name, as PEM. Node can read certificates but not create
 * them, and a library for it would add a dozen packages.
 */
export function createSelfSignedCertificate(host: string): { key: string; certificate: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const now = new Date()
  const expiry = new Date(now)
  expiry.setUTCFullYear(now.getUTCFullYear() + YEARS)
  // A self-signed certificate has the same name as its issuer and as its subject.
  const distinguishedName = encodeSequence(
    encodeDer(TAG.set, encodeSequence(COMMON_NAME, encodeDer(TAG.utf8, Buffer.from(host)))),
  )
  const alternativeNames = encodeSequence(encodeDer(toContextTag(2, false), Buffer.from(host)))
  const body = encodeSequence(
    encodeDer(toContextTag(0), encodeDer(TAG.integer, Buffer.of(2))),
    encodeDer(TAG.integer, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    encodeSequence(ECDSA_WITH_SHA256),
    distinguishedName,
    encodeSequence(encodeUtcTime(now), encodeUtcTime(expiry)),
    distinguishedName,
    publicKey.export({ type: 'spki', format: 'der' }),
    encodeDer(
      toContextTag(3),
      encodeSequence(encodeSequence(SUBJECT_ALT_NAME, encodeDer(TAG.octets, alternativeNames))),
    ),
  )
  const signature = encodeDer(TAG.bits, Buffer.of(0), sign('sha256', body, privateKey))
  return {
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    certificate: formatPem(encodeSequence(body, encodeSequence(ECDSA_WITH_SHA256), signature)),
  }
}

/** Encodes a DER value of at most 65 535 bytes. */
function encodeDer(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.of(tag, ...encodeLength(content.length)), content])
}

function encodeLength(length: number): readonly number[] {
  if (length < 0x80) return [length]
  if (length < 0x100) return [0x81, length]
  return [0x82, Math.floor(length / 0x100), length % 0x100]
}

const encodeSequence = (...parts: Buffer[]) => encodeDer(TAG.list, ...parts)
/** Encodes a UTCTime, which can represent only the years 1950 to 2049. */
const encodeUtcTime = (date: Date) =>
  encodeDer(
    TAG.time,
    Buffer.from(
      date
        .toISOString()
        .slice(2)
        .replaceAll(/[-:T]|\.\d+/g, ''),
    ),
  )
const formatPem = (bytes: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
