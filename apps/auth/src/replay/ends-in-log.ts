import { AgentId, RegistrationId } from '@plainpath/domain'
import { z } from 'zod'

const Told = z.object({ msg: z.literal('security event'), time: z.iso.datetime() })
const End = z.discriminatedUnion('event', [
  Told.extend({
    event: z.literal('client-ended'),
    client_id: AgentId,
    how: z.enum(['disabled', 'deleted']),
  }),
  Told.extend({ event: z.literal('client-enabled'), client_id: AgentId }),
  Told.extend({ event: z.literal('secret-ended'), client_id: AgentId, secret_id: z.uuid() }),
  Told.extend({ event: z.literal('claim-ended'), registration_id: RegistrationId }),
  Told.extend({ event: z.literal('keys-changed'), client_id: AgentId }),
  Told.extend({ event: z.literal('secret-added'), client_id: AgentId, secret_id: z.uuid() }),
])

/** What had ended when the log ended. */
export interface Ends {
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
export async function endsInLog(said: AsyncIterable<object>): Promise<Ends> {
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
