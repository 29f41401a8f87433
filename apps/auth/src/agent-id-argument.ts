import { AgentId } from '@plainpath/domain'
import { InvalidArgumentError } from 'commander'

/** Of a command that is about one agent. */
export function agentIdArgument(text: string): AgentId {
  const id = AgentId.safeParse(text)
  if (!id.success) throw new InvalidArgumentError('A client_id is agt_ and 22 characters.')
  return id.data
}
