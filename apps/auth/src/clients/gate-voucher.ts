import { createHmac, randomBytes } from 'node:crypto'

/** What the gate says to oidc-provider in place of a secret that a client with keys does not have. */
export type GateVoucher = (clientId: string) => string

/** Vouchers of this process: nobody outside of it can know one, and none is written down. */
export function gateVoucher(): GateVoucher {
  const key = randomBytes(32)
  return (clientId) => createHmac('sha256', key).update(clientId).digest('base64url')
}
