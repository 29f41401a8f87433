import type { AgentId, RegistrationId } from '@plainpath/domain'
import { z } from 'zod'
import { findSecrets } from '../agents/agent-secret.ts'
import { endAgent } from '../agents/end-agent.ts'
import { endSecret } from '../agents/rotate-secret.ts'
import { SECURITY_EVENTS } from '../events.ts'
import type { Stores } from '../stores.ts'

const Told = z.object({ msg: z.literal('security event'), time: z.iso.datetime() })
const End = z.discriminatedUnion('event', [
  Told.extend({ event: z.literal('client-ended'), ...SECURITY_EVENTS['client-ended'].shape }),
  Told.extend({ event: z.literal('client-enabled'), ...SECURITY_EVENTS['client-enabled'].shape }),
  Told.extend({ event: z.literal('secret-ended'), ...SECURITY_EVENTS['secret-ended'].shape }),
  Told.extend({
    event: z.literal('claim-ended'),
    ...SECURITY_EVENTS['claim-ended'].pick({ registration_id: true }).shape,
  }),
  Told.extend({ event: z.literal('keys-changed'), ...SECURITY_EVENTS['keys-changed'].shape }),
  Told.extend({ event: z.literal('secret-added'), ...SECURITY_EVENTS['secret-added'].shape }),
])

/** What had ended when the log ended. */
interface Ends {
  readonly clients: ReadonlyMap<AgentId, 'disabled' | 'deleted'>
  readonly claims: ReadonlySet<RegistrationId>
  /** By the id of the secret: whose it is. */
  readonly secrets: ReadonlyMap<string, AgentId>
  /** Who registered keys, also in place of a secret or of other keys. */
  readonly newKeys: ReadonlySet<AgentId>
  /** By the id of a secret that was added, after which the one before ends: whose it is. */
  readonly addedSecrets: ReadonlyMap<string, AgentId>
}

/**
 * Reads the security events of a log, in whatever order its lines are: those of several instances may be joined. A client
 * that was enabled after it was disabled had not ended.
 */
export async function readEndedInLog(said: AsyncIterable<object>): Promise<Ends> {
  const states = new Map<AgentId, { at: string; how: 'active' | 'disabled' | 'deleted' }>()
  const claims = new Set<RegistrationId>()
  const secrets = new Map<string, AgentId>()
  const newKeys = new Set<AgentId>()
  const addedSecrets = new Map<string, AgentId>()
  for await (const each of said) {
    const { data } = End.safeParse(each)
    if (data?.event === 'claim-ended') claims.add(data.registration_id)
    if (data?.event === 'secret-ended') secrets.set(data.secret_id, data.client_id)
    if (data?.event === 'keys-changed') newKeys.add(data.client_id)
    if (data?.event === 'secret-added') addedSecrets.set(data.secret_id, data.client_id)
    if (data?.event !== 'client-ended' && data?.event !== 'client-enabled') continue
    const how = data.event === 'client-ended' ? data.how : 'active'
    const known = states.get(data.client_id)
    if (!known || how === 'deleted' || (known.how !== 'deleted' && known.at <= data.time))
      states.set(data.client_id, { at: data.time, how })
  }
  const clients = new Map<AgentId, 'disabled' | 'deleted'>()
  for (const [id, { how }] of states) if (how !== 'active') clients.set(id, how)
  return { clients, claims, secrets, newKeys, addedSecrets }
}

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
export async function replayEnds(ends: Ends, stores: Stores, now: () => Date): Promise<ReplayedEnds> {
  const over = new Set<AgentId>()
  const end = async (id: AgentId, how: 'disabled' | 'deleted') => {
    over.add(id)
    return (await endAgent(stores, id, how)) ? 1 : 0
  }
  let clients = 0
  let claims = 0
  let secrets = 0
  let changed = 0
  for (const [id, how] of ends.clients) clients += await end(id, how)
  for (const id of ends.claims) if (await stores.claims.end(id, 'operator', now())) claims += 1
  for (const [secretId, id] of ends.secrets) {
    const outcome = await endSecret(stores, { id, secretId }, now())
    if (outcome === 'gone') secrets += 1
    // The secret that took its place came after the backup: all that opens this client now is what had to go.
    if (outcome === 'last') clients += await end(id, 'disabled')
  }
  for (const id of ends.newKeys) if (!over.has(id)) changed += await end(id, 'disabled')
  for (const [secretId, id] of ends.addedSecrets) {
    // One that ended itself took nothing away from the one before.
    if (over.has(id) || ends.secrets.has(secretId)) continue
    const known = await findSecrets(stores.db, id)
    if (!known.some((secret) => secret.id === secretId)) changed += await end(id, 'disabled')
  }
  return { clients, claims, secrets, changed }
}
