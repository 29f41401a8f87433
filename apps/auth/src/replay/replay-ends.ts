import type { AgentId, RegistrationId } from '@plainpath/domain'
import type { Ends } from './ends-in-log.ts'

/** How many a restored database had alive, and have ended now. */
export interface ReplayedEnds {
  readonly clients: number
  readonly claims: number
  readonly secrets: number
}

/** Ends again what had ended, one after the other; each is over everywhere before the next is begun. */
export async function replayEnds(
  ends: Ends,
  deps: {
    endAgent(id: AgentId, how: 'disabled' | 'deleted'): Promise<boolean>
    endClaim(id: RegistrationId): Promise<boolean>
    endSecret(id: AgentId, secretId: string): Promise<'gone' | 'unknown' | 'last' | 'ended'>
  },
): Promise<ReplayedEnds> {
  let clients = 0
  let claims = 0
  let secrets = 0
  for (const [id, how] of ends.clients) if (await deps.endAgent(id, how)) clients += 1
  for (const id of ends.claims) if (await deps.endClaim(id)) claims += 1
  for (const [secretId, id] of ends.secrets) {
    const outcome = await deps.endSecret(id, secretId)
    if (outcome === 'gone') secrets += 1
    // The secret that took its place came after the backup: all that opens this client now is what had to go.
    if (outcome === 'last' && (await deps.endAgent(id, 'disabled'))) clients += 1
  }
  return { clients, claims, secrets }
}
