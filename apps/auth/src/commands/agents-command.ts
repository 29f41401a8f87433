import { DRY_RUN, Refusal } from '@plainpath/commands'
import type { AgentId } from '@plainpath/domain'
import { countAgents } from '../agents/agent-counts.ts'
import { findExpiredAgent } from '../agents/agent-expiry.ts'
import {
  agentJson,
  agentText,
  countsJson,
  countsText,
  expiredJson,
  expiredText,
} from '../agents/agent-report.ts'
import { endAgent } from '../agents/end-agent.ts'
import { isUrlClient } from '../agents/refresh-document.ts'
import { clientId, defineCommand, limit } from './define-command.ts'

/** The `agents` commands. Names are untrusted text, so they are shown quoted. */
export const agentsCommands = [
  defineCommand({
    name: 'agents list',
    summary: 'list the newest agents',
    parameters: { limit },
    opens: 'database',
    async run({ stores, args, now }) {
      const agents = await stores.agents.list(args.limit)
      const verified = await stores.claims.findConfirmed(
        agents.map(({ id }) => id),
        now(),
      )
      return {
        json: await Promise.all(agents.map((agent) => agentJson(agent, verified.has(agent.id)))),
        text:
          (await Promise.all(agents.map((agent) => agentText(agent, verified.has(agent.id))))).join('\n') ||
          'No agent has registered yet.',
      }
    },
  }),
  defineCommand({
    name: 'agents show',
    summary: 'show one agent, also an expired one, and when it expires',
    parameters: { id: clientId },
    opens: 'database',
    async run({ stores, args: { id }, now }) {
      const agent = (await stores.agents.find(id))?.agent
      if (agent) {
        const emailVerified = (await stores.claims.live(id, now())) !== undefined
        return { json: await agentJson(agent, emailVerified), text: await agentText(agent, emailVerified) }
      }
      const expired = await findExpiredAgent(stores.db, id, now())
      if (!expired) throw new Refusal(`There is no agent ${id}.`)
      return { json: expiredJson(expired), text: expiredText(expired) }
    },
  }),
  defineCommand({
    name: 'agents stats',
    summary: 'count the agents of each kind',
    opens: 'database',
    async run({ stores, now }) {
      const counts = await countAgents(stores.db, now())
      return { json: countsJson(counts), text: countsText(counts) }
    },
  }),
  endCommand('disable', 'disabled', 'is disabled; all its tokens are revoked'),
  defineCommand({
    name: 'agents enable',
    summary: 'let a disabled agent get tokens again',
    parameters: { id: clientId, dryRun: DRY_RUN },
    opens: 'database',
    async run({ stores, args: { id, dryRun }, now }) {
      const isDisabled = async () => (await stores.agents.find(id))?.agent.status === 'disabled'
      if (!(await (dryRun ? isDisabled() : stores.agents.enable(id, now()))))
        throw new Refusal(`${id} is not disabled${isUrlClient(id) ? ', or its domain is blocked' : ''}.`)
      return dryRun
        ? { json: changed(id, 'disabled', false), text: `Would enable ${id}.` }
        : { json: changed(id, 'active', true), text: `${id} is active.` }
    },
  }),
  endCommand('delete', 'deleted', 'is deleted; its tokens are revoked and its name is erased'),
]

function endCommand(verb: 'disable' | 'delete', status: 'disabled' | 'deleted', done: string) {
  return defineCommand({
    name: `agents ${verb}`,
    summary: `${verb} an agent and revoke all its tokens before returning`,
    parameters: { id: clientId, dryRun: DRY_RUN },
    opens: 'stores',
    async run({ stores, args: { id, dryRun } }) {
      const before = dryRun ? (await stores.agents.find(id))?.agent.status : undefined
      const isThere = dryRun
        ? before !== undefined && before !== 'deleted'
        : await endAgent(stores, id, status)
      if (!isThere) throw new Refusal(`There is no agent ${id}, or it was deleted.`)
      return dryRun
        ? { json: changed(id, before, false), text: `Would ${verb} ${id}.` }
        : { json: changed(id, status, true), text: `${id} ${done}.` }
    },
  })
}

const changed = (id: AgentId, status: string | undefined, done: boolean) => ({
  ok: true,
  done,
  client_id: id,
  status,
})
