import type { Message } from './api-types.ts'

/**
 * Computes the `Idempotency-Key` of a message. The same message has the same key under the same secret. Therefore, the service
 * accepts the message only once, even if a call is repeated after a timeout or by another process. The key is an HMAC, so nobody
 * without the secret can test guesses of the message against a stored or logged key.
 *
 * @param secret the agent's secret; for an agent without a secret, a random value that only one `Plainpath` object has
 */
export async function computeMessageKey(message: Message, secret: string): Promise<string> {
  const { topic, message: text, guideSlug = null, handOff = null } = message
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', encodeUtf8(secret), algorithm, false, ['sign'])
  const mac = await crypto.subtle.sign(
    'HMAC',
    key,
    encodeUtf8(JSON.stringify([topic, text, guideSlug, handOff])),
  )
  return Array.from(new Uint8Array(mac), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

const encodeUtf8 = (text: string) => new TextEncoder().encode(text)
