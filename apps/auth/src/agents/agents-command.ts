import type { AgentId } from '@plainpath/domain'
import type { Command } from 'commander'
import { agentIdArgument } from '../agent-id-argument.ts'
import { listLimit } from '../list-limit.ts'
import type { Stores } from '../stores.ts'
import { countAgents } from './agent-counts.ts'
import { findExpiredAgent } from './agent-expiry.ts'
import { agentJson, agentText, countsJson, countsText, expiredJson, expiredText } from './agent-report.ts'
import { endAgent } from './end-agent.ts'

export interface AgentsCommandDeps {
  io: { print(line: string): void }
  refuse(text: string): Error
  stores<T>(work: (opened: Stores) => Promise<T>): Promise<T>
  now: () => Date
}

interface Options {
  json?: boolean
  dryRun?: boolean
}

/** `auth agents list | show | stats | disable | enable | delete`. Names are agents' own words and shown quoted. */
export function addAgentsCommand(program: Command, deps: AgentsCommandDeps): void {
  const agents = program.command('agents').description('registered agents')
  addLooking(agents, deps)
  addChanging(agents, deps)
}

const sayWith =
  ({ io }: AgentsCommandDeps) =>
  (options: Options, json: unknown, text: string) =>
    io.print(options.json ? JSON.stringify(json) : text)
const refuseWith = (deps: AgentsCommandDeps) => (options: Options, reason: string) => {
  if (options.json) deps.io.print(JSON.stringify({ ok: false, reason }))
  return deps.refuse(reason)
}

function addLooking(agents: Command, deps: AgentsCommandDeps): void {
  const { stores, now } = deps
  const [say, refuse] = [sayWith(deps), refuseWith(deps)]
  agents
    .command('list')
    .description('the newest agents')
    .option('--limit <number>', 'how many, 1 to 1000', listLimit, 50)
    .option('--json', 'for programs')
    .action(async (options: { limit: number; json?: boolean }) => {
      const found = await stores((opened) => opened.agents.list(options.limit))
      const text = found.length > 0 ? found.map(agentText).join('\n') : 'No agent has registered yet.'
      say(options, found.map(agentJson), text)
    })
  agents
    .command('show')
    .argument('<client_id>', 'agt_ and 22 characters', agentIdArgument)
    .description('one agent, and when it expires; also one that has expired')
    .option('--json', 'for programs')
    .action((id: AgentId, options: Options) =>
      stores(async (opened) => {
        const agent = (await opened.agents.find(id))?.agent
        if (agent) return say(options, agentJson(agent), agentText(agent))
        const expired = await findExpiredAgent(opened.db, id, now())
        if (!expired) throw refuse(options, `There is no agent ${id}.`)
        say(options, expiredJson(expired), expiredText(expired))
      }),
    )
  agents
    .command('stats')
    .description('how many agents there are of each kind')
    .option('--json', 'for programs')
    .action(async (options: Options) => {
      const counts = await stores((opened) => countAgents(opened.db, now()))
      say(options, countsJson(counts), countsText(counts))
    })
}

function addChanging(agents: Command, deps: AgentsCommandDeps): void {
  const { stores, now } = deps
  const [say, refuse] = [sayWith(deps), refuseWith(deps)]
  const change = (verb: string, description: string) =>
    agents
      .command(verb)
      .argument('<client_id>', 'agt_ and 22 characters', agentIdArgument)
      .description(description)
      .option('--json', 'for programs')
      .option('--dry-run', 'say what would be done, and change nothing')
  for (const [verb, status, done] of [
    ['disable', 'disabled', 'is disabled; all its tokens have ended'],
    ['delete', 'deleted', 'is deleted; its tokens have ended and its name is erased'],
  ] as const) {
    change(verb, `${verb} an agent and end all its tokens before returning`).action(
      (id: AgentId, options: Options) =>
        stores(async (opened) => {
          const known = async () => (await opened.agents.find(id))?.agent.status
          const isThere = async () => ![undefined, 'deleted'].includes(await known())
          if (!(await (options.dryRun ? isThere() : endAgent(opened, id, status))))
            throw refuse(options, `There is no agent ${id}, or it was deleted.`)
          if (options.dryRun) return say(options, changed(id, await known(), false), `Would ${verb} ${id}.`)
          say(options, changed(id, status, true), `${id} ${done}.`)
        }),
    )
  }
  change('enable', 'let a disabled agent get tokens again').action((id: AgentId, options: Options) =>
    stores(async (opened) => {
      const isDisabled = async () => (await opened.agents.find(id))?.agent.status === 'disabled'
      if (!(await (options.dryRun ? isDisabled() : opened.agents.enable(id, now()))))
        throw refuse(options, `${id} is not disabled.`)
      if (options.dryRun) return say(options, changed(id, 'disabled', false), `Would enable ${id}.`)
      say(options, changed(id, 'active', true), `${id} is active.`)
    }),
  )
}

const changed = (id: AgentId, status: string | undefined, done: boolean) => ({
  ok: true,
  done,
  client_id: id,
  status,
})
