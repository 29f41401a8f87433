import type { KeyStore } from './key-store.ts'
import { generateSigningKey } from './signing-key.ts'

/** Makes the first signing key, unless there is one. @returns its kid, or undefined when nothing was to be done */
export async function initKeys(deps: { keys: KeyStore; now: () => Date }): Promise<string | undefined> {
  const known = await deps.keys.read()
  if (known.some((key) => key.state === 'signing')) return undefined
  const key = await generateSigningKey('ES256', 'signing', deps.now())
  return (await deps.keys.addFirst(key)) ? key.kid : undefined
}
