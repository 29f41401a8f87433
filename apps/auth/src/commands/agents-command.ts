import { DRY_RUN, option, Refusal } from '@plainpath/commands'
import type { AgentId } from '@plainpath/domain'
import { countAgents } from '../agents/agent-counts.ts'
import { findExpiredAgent } from '../agents/agent-expiry.ts'
import {
  formatAgent,
  formatCounts,
  formatExpiredAgent,
  toAgentJson,
  toCountsJson,
  toExpiredAgentJson,
} from '../agents/agent-report.ts'
import { deactivateAgent } from '../agents/deactivate-agent.ts'
import { isUrlClient } from '../agents/refresh-document.ts'
import { readStatusReason } from '../agents/status-reason.ts'
import { clientId, defineCommand, limit, parseReason } from './define-command.ts'

const optionalReason = option(
  '--reason <text>',
  'the reason, which "agents show" prints; up to 200 characters',
  {
    parse: parseReason,
  },
)

/** The `agents` commands. Names are untrusted text, so they are shown quoted. */
export const agentsCommands = [
  defineCommand({
    name: 'agents list',
    summary: 'list the newest agents',
    parameters: { limit },
    opens: 'database',
    async run({ stores, args, now }) {
      const agents = await stores.agents.list(args.limit)
      const verifiedIds = await stores.verifications.findConfirmed(
        agents.map(({ id }) => id),
        now(),
      )
      return {
        json: await Promise.all(agents.map((agent) => toAgentJson(agent, verifiedIds.has(agent.id)))),
        text:
          (await Promise.all(agents.map((agent) => formatAgent(agent, verifiedIds.has(agent.id))))).join(
            '\n',
          ) || 'There are no agents.',
      }
    },
  }),
  defineCommand({
    name: 'agents show',
    summary: 'show an agent, or when and why it expired',
    parameters: { id: clientId },
    opens: 'database',
    async run({ stores, args: { id }, now }) {
      const agent = (await stores.agents.find(id))?.agent
      if (agent) {
        const isEmailVerified = (await stores.verifications.findLive(id, now())) !== undefined
        const statusReason = await readStatusReason(stores.db, id)
        return {
          json: {
            ...(await toAgentJson(agent, isEmailVerified)),
            ...(statusReason !== undefined && { status_reason: statusReason }),
          },
          text:
            (await formatAgent(agent, isEmailVerified)) +
            (statusReason === undefined ? '' : `  reason: ${statusReason}`),
        }
      }
      const expiredAgent = await findExpiredAgent(stores.db, id, now())
      if (!expiredAgent) throw new Refusal(`There is no agent ${id}.`)
      return { json: toExpiredAgentJson(expiredAgent), text: formatExpiredAgent(expiredAgent) }
    },
  }),
  defineCommand({
    name: 'agents stats',
    summary: 'count agents by status and use, and live e-mail verifications',
    opens: 'database',
    async run({ stores, now }) {
      const counts = await countAgents(stores.db, now())
      return { json: toCountsJson(counts), text: formatCounts(counts) }
    },
  }),
  defineDeactivateCommand('disable', 'disabled', 'is disabled; all its tokens are revoked'),
  defineCommand({
    name: 'agents enable',
    summary: 'allow a disabled agent to get tokens again',
    parameters: { id: clientId, dryRun: DRY_RUN },
    opens: 'database',
    getLockedResource: ({ id }) => id,
    async run({ stores, args: { id, dryRun }, now }) {
      const agent = (await stores.agents.find(id))?.agent
      if (agent?.appClientId !== undefined)
        throw new Refusal(
          `${id} is the connection of an app, which cannot be enabled again. The person must sign in with the app again.`,
        )
      const isDisabled = agent?.status === 'disabled'
      if (!(dryRun ? isDisabled : await stores.agents.enable(id, now())))
        throw new Refusal(
          `There is no disabled agent ${id}${isUrlClient(id) ? ', or its domain is blocked' : ''}.`,
        )
      return dryRun
        ? {
            json: toStatusJson(id, 'disabled', false),
            text: `Would enable ${id}${isUrlClient(id) ? ', unless its domain is blocked' : ''}.`,
          }
        : { json: toStatusJson(id, 'active', true), text: `${id} is active.` }
    },
  }),
  defineDeactivateCommand('delete', 'deleted', 'is deleted; its tokens are revoked and its name is erased'),
]

function defineDeactivateCommand(
  verb: 'disable' | 'delete',
  status: 'disabled' | 'deleted',
  outcomeText: string,
) {
  return defineCommand({
    name: `agents ${verb}`,
    summary: `${verb} an agent and revoke all its tokens; when the command ends, no API accepts them`,
    parameters: { id: clientId, reason: optionalReason, dryRun: DRY_RUN },
    opens: 'all stores',
    getLockedResource: ({ id }) => id,
    async run({ stores, args: { id, reason, dryRun } }) {
      const currentStatus = dryRun ? (await stores.agents.find(id))?.agent.status : undefined
      const wasFound = dryRun
        ? currentStatus !== undefined && currentStatus !== 'deleted'
        : await deactivateAgent(stores, { id, credentialVersion: undefined }, status, reason)
      if (!wasFound) throw new Refusal(`There is no agent ${id}, or it was deleted.`)
      return dryRun
        ? { json: toStatusJson(id, currentStatus, false), text: `Would ${verb} ${id}.` }
        : { json: toStatusJson(id, status, true), text: `${id} ${outcomeText}.` }
    },
  })
}

/** Builds the JSON output for a change of status. `done` is false in a dry run. */
const toStatusJson = (id: AgentId, status: string | undefined, done: boolean) => ({
  ok: true,
  done,
  client_id: id,
  status,
})
