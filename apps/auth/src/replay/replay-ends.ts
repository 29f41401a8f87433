import type { AgentId, RegistrationId } from '@plainpath/domain'
import type { Ends } from './ends-in-log.ts'

/** How many a restored database had alive, and have ended now. */
export interface ReplayedEnds {
  readonly clients: number
  readonly claims: number
  readonly secrets: number
  /** Clients that had other credentials since, and are disabled. */
  readonly changed: number
}

/**
 * Ends again what had ended, one after the other; each is over everywhere before the next is begun. A client that has other
 * credentials since is disabled: all that opens it now is what it gave up, which may have leaked, and it has the others only.
 */
export async function replayEnds(
  ends: Ends,
  deps: {
    endAgent(id: AgentId, how: 'disabled' | 'deleted'): Promise<boolean>
    endClaim(id: RegistrationId): Promise<boolean>
    endSecret(id: AgentId, secretId: string): Promise<'gone' | 'unknown' | 'last' | 'ended'>
    /** Empty also for a client that is not there. */
    secretIds(id: AgentId): Promise<readonly string[]>
  },
): Promise<ReplayedEnds> {
  const over = new Set<AgentId>()
  const end = async (id: AgentId, how: 'disabled' | 'deleted') => {
    over.add(id)
    return (await deps.endAgent(id, how)) ? 1 : 0
  }
  let clients = 0
  let claims = 0
  let secrets = 0
  let changed = 0
  for (const [id, how] of ends.clients) clients += await end(id, how)
  for (const id of ends.claims) if (await deps.endClaim(id)) claims += 1
  for (const [secretId, id] of ends.secrets) {
    const outcome = await deps.endSecret(id, secretId)
    if (outcome === 'gone') secrets += 1
    // The secret that took its place came after the backup: all that opens this client now is what had to go.
    if (outcome === 'last') clients += await end(id, 'disabled')
  }
  for (const id of ends.newKeys) if (!over.has(id)) changed += await end(id, 'disabled')
  for (const [secretId, id] of ends.addedSecrets) {
    // One that ended itself took nothing away from the one before.
    if (over.has(id) || ends.secrets.has(secretId)) continue
    if (!(await deps.secretIds(id)).includes(secretId)) changed += await end(id, 'disabled')
  }
  return { clients, claims, secrets, changed }
}
