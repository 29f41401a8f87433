import { type Agent, AgentId } from '@plainpath/domain'
import { Command } from 'commander'
import type { AgentStore } from './agent-store.ts'
import type { EndAgent } from './end-agent.ts'

interface Stores {
  readonly store: AgentStore
  readonly endAgent: EndAgent
}

export interface AgentsCommandDeps {
  io: { print(line: string): void }
  refuse(text: string): Error
  stores<T>(work: (opened: Stores) => Promise<T>): Promise<T>
}

/** `auth agents list | show | disable | enable | delete`. Names are agents' own words and shown quoted. */
export function agentsCommand({ io, refuse, stores }: AgentsCommandDeps): Command {
  const agents = new Command('agents').description('registered agents')
  const idOf = (text: string): AgentId => {
    const id = AgentId.safeParse(text)
    if (!id.success)
      throw refuse(`${JSON.stringify(text)} is not a client_id: those are agt_ and 22 characters.`)
    return id.data
  }
  const print = (agent: Agent, json: boolean | undefined) =>
    io.print(json ? JSON.stringify(view(agent)) : sentence(agent))

  agents
    .command('list')
    .description('the newest agents')
    .option('--limit <number>', 'how many, 1 to 1000', '50')
    .option('--json', 'for programs')
    .action(async (options: { limit: string; json?: boolean }) => {
      const limit = Number(options.limit)
      if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
        throw refuse('--limit must be a number from 1 to 1000.')
      const found = await stores(({ store }) => store.list(limit))
      if (options.json) return io.print(JSON.stringify(found.map(view)))
      if (found.length === 0) return io.print('No agent has registered yet.')
      for (const agent of found) print(agent, false)
    })
  agents
    .command('show <client_id>')
    .description('one agent')
    .option('--json', 'for programs')
    .action(async (text: string, options: { json?: boolean }) => {
      const record = await stores(({ store }) => store.find(idOf(text)))
      if (!record) throw refuse(`There is no agent ${text}.`)
      print(record.agent, options.json)
    })
  for (const [verb, status, done] of [
    ['disable', 'disabled', 'is disabled; all its tokens have ended'],
    ['delete', 'deleted', 'is deleted; its tokens have ended and its name is erased'],
  ] as const) {
    agents
      .command(`${verb} <client_id>`)
      .description(`${verb} an agent and end all its tokens before returning`)
      .action(async (text: string) => {
        if (!(await stores(({ endAgent }) => endAgent(idOf(text), status))))
          throw refuse(`There is no agent ${text}, or it was deleted.`)
        io.print(`${text} ${done}.`)
      })
  }
  agents
    .command('enable <client_id>')
    .description('let a disabled agent get tokens again')
    .action(async (text: string) => {
      if (!(await stores(({ store }) => store.enable(idOf(text))))) throw refuse(`${text} is not disabled.`)
      io.print(`${text} is active.`)
    })
  return agents
}

const view = ({ id, name, status, scopes, registeredAt }: Agent) => ({
  client_id: id,
  ...(name !== undefined && { client_name: name }),
  status,
  scopes,
  registered_at: registeredAt.toISOString(),
})

const sentence = (agent: Agent) =>
  `${agent.id}  ${agent.status.padEnd(8)}  ${agent.registeredAt.toISOString()}${agent.name === undefined ? '' : `  ${JSON.stringify(agent.name)}`}`
