import type { SigningKey } from './signing-key.ts'

export interface KeyStore {
  /** Every key there is, oldest first. @throws when a private part cannot be opened: nobody replaces it by itself */
  read(): Promise<readonly SigningKey[]>
  /** Adds the key unless one signs already; of any number at once exactly one wins. @returns false if it did not */
  addFirst(key: SigningKey): Promise<boolean>
}
