import { type Agent, AgentId } from '@plainpath/domain'
import { type Command, InvalidArgumentError } from 'commander'
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
export function addAgentsCommand(program: Command, { io, refuse, stores }: AgentsCommandDeps): void {
  const agents = program.command('agents').description('registered agents')
  const print = (agent: Agent, json: boolean | undefined) =>
    io.print(json ? JSON.stringify(view(agent)) : sentence(agent))

  agents
    .command('list')
    .description('the newest agents')
    .option('--limit <number>', 'how many, 1 to 1000', limitOf, 50)
    .option('--json', 'for programs')
    .action(async (options: { limit: number; json?: boolean }) => {
      const found = await stores(({ store }) => store.list(options.limit))
      if (options.json) return io.print(JSON.stringify(found.map(view)))
      if (found.length === 0) return io.print('No agent has registered yet.')
      for (const agent of found) print(agent, false)
    })
  agents
    .command('show')
    .argument('<client_id>', 'agt_ and 22 characters', idOf)
    .description('one agent')
    .option('--json', 'for programs')
    .action(async (id: AgentId, options: { json?: boolean }) => {
      const record = await stores(({ store }) => store.find(id))
      if (!record) throw refuse(`There is no agent ${id}.`)
      print(record.agent, options.json)
    })
  for (const [verb, status, done] of [
    ['disable', 'disabled', 'is disabled; all its tokens have ended'],
    ['delete', 'deleted', 'is deleted; its tokens have ended and its name is erased'],
  ] as const) {
    agents
      .command(verb)
      .argument('<client_id>', 'agt_ and 22 characters', idOf)
      .description(`${verb} an agent and end all its tokens before returning`)
      .action(async (id: AgentId) => {
        if (!(await stores(({ endAgent }) => endAgent(id, status))))
          throw refuse(`There is no agent ${id}, or it was deleted.`)
        io.print(`${id} ${done}.`)
      })
  }
  agents
    .command('enable')
    .argument('<client_id>', 'agt_ and 22 characters', idOf)
    .description('let a disabled agent get tokens again')
    .action(async (id: AgentId) => {
      if (!(await stores(({ store }) => store.enable(id)))) throw refuse(`${id} is not disabled.`)
      io.print(`${id} is active.`)
    })
}

function idOf(text: string): AgentId {
  const id = AgentId.safeParse(text)
  if (!id.success) throw new InvalidArgumentError('A client_id is agt_ and 22 characters.')
  return id.data
}

function limitOf(text: string): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > 1000) throw new InvalidArgumentError('It must be a number from 1 to 1000.')
  return limit
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
