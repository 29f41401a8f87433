/** Save them as you would a password, and give them to the next client of the same service. */
export interface Credentials {
  /** The only service that they are sent to. */
  readonly origin: string
  /** What `register` returned, or the URL of the agent's Client ID Metadata Document. */
  readonly client_id: string
  /** Absent for an agent with keys. */
  readonly client_secret?: string
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** Parses an origin. @throws {TypeError} unless it is `https:` or a loopback address, and has nothing else */
export function safeOrigin(text: string): string {
  const url = new URL(text)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.test(url.hostname)))
    throw new TypeError('The origin is not https: secrets and messages would be sent in clear.')
  if (url.href !== `${url.origin}/`)
    throw new TypeError(`${url.origin} is the origin; leave out what follows it.`)
  return url.origin
}

/** Picks the members of credentials out of an object with more. */
export const pickCredentials = (
  origin: string,
  { client_id, client_secret }: Pick<Credentials, 'client_id' | 'client_secret'>,
): Credentials => Object.freeze({ origin, client_id, ...(client_secret !== undefined && { client_secret }) })
