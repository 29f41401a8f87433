import type { Message } from './api-types.ts'

/**
 * Makes the `Idempotency-Key` of a message: the same message of the same agent always has the same key, so that it is sent once,
 * also when a call is repeated after a timeout or by another process. It is an HMAC with the agent's secret: a key that is stored
 * or logged does not let anybody guess the message.
 */
export async function messageKey(message: Message, secret: string): Promise<string> {
  const { topic, message: text, guideSlug = null, handOff = null } = message
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', bytes(secret), algorithm, false, ['sign'])
  const mac = await crypto.subtle.sign('HMAC', key, bytes(JSON.stringify([topic, text, guideSlug, handOff])))
  return Array.from(new Uint8Array(mac), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

const bytes = (text: string) => new TextEncoder().encode(text)
