import { randomBytes } from 'node:crypto'

/** What the gate says to oidc-provider in place of the secret or assertion by which it has recognised a client. */
export type GateVoucher = (clientId: string) => string

/** Vouchers of this process: nobody outside of it can know one, and none is written down or sent. */
export function gateVoucher(): GateVoucher {
  const unguessable = randomBytes(32).toString('base64url')
  return (clientId) => `${unguessable}.${clientId}`
}
