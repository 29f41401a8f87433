import { argument, DRY_RUN, InvalidArgumentError, Refusal } from '@plainpath/commands'
import { AgentId } from '@plainpath/domain'
import { agentsOfDomain, blockDomain } from '../agents/block-domain.ts'
import { BlockEntry, parseDomain } from '../agents/blocked-domain.ts'
import { documentSource, isUrlClient, refreshDocument } from '../agents/refresh-document.ts'
import { openDocumentFetcher } from '../client-documents/document-fetcher.ts'
import { AUDIT_PARAMETERS, auditOutput } from './audit-output.ts'
import { defineCommand, reason } from './define-command.ts'

/** The bound for each caller is for requests; a command makes one. */
const LOOPBACK = '127.0.0.1'

const url = argument('<url>', 'the client_id of an agent: an https URL', (text) => {
  const id = AgentId.safeParse(text)
  if (!id.success || !isUrlClient(id.data))
    throw new InvalidArgumentError('It must be an https URL, as agents list shows it.')
  return id.data
})

const domain = argument('<domain>', 'such as agent.example.org; its subdomains count too', (text) => {
  const parsed = parseDomain(text)
  if (!parsed.ok) throw new InvalidArgumentError('A domain is a host name, such as agent.example.org.')
  return parsed.value
})

/** The commands for agents that are known by the URL of a document, and for their domains. */
export const agentDocumentCommands = [
  defineCommand({
    name: 'agents refresh',
    summary: 'fetch the document of an agent now; if a key is gone, revoke its tokens before returning',
    parameters: { url },
    opens: 'stores',
    async run({ config, stores, args: { url: id }, now }) {
      const agent = (await stores.agents.find(id))?.agent
      if (agent?.status !== 'active') throw new Refusal(`There is no active agent ${id}.`)
      const fetcher = openDocumentFetcher({ testHosts: config.clientDocumentTestHosts, now })
      const fetched = await documentSource(fetcher.fetch, now)(id, LOOPBACK, { isNew: false })
      const refreshed = await refreshDocument(stores, id, fetched, { publish: true })
      if (!fetched.ok) {
        const { error } = fetched
        if (error.kind === 'member')
          throw new Refusal(
            `The document is no longer usable (${error.member} ${error.detail}). All tokens of ${id} are revoked.`,
          )
        const until = agent.documentExpiresAt?.toISOString()
        throw new Refusal(
          `The document could not be fetched, so nothing was changed. The stored keys are used until ${until}, and no token lasts longer. To revoke them now: agents disable`,
        )
      }
      if (!refreshed) throw new Refusal(`There is no active agent ${id}.`)
      const expiresAt = refreshed.expiresAt.toISOString()
      if (refreshed.isOlder)
        throw new Refusal(
          `Nothing was changed: by the clock of this machine, the stored document was requested later, at ${refreshed.fetchedAt.toISOString()}. Set the clock right, then repeat the command.`,
        )
      return {
        json: {
          ok: true,
          done: true,
          client_id: id,
          keys: refreshed.keys.length,
          tokens_revoked: refreshed.revoked !== undefined,
          document_expires_at: expiresAt,
        },
        text: `${id} has ${refreshed.keys.length === 1 ? '1 key' : `${refreshed.keys.length} keys`} until ${expiresAt}; ${REVOKED[refreshed.revoked ?? 'none']}.`,
      }
    },
  }),
  defineCommand({
    name: 'agents block',
    summary: 'disable every agent of a domain and refuse new ones, at every instance before returning',
    parameters: { domain, reason, dryRun: DRY_RUN },
    opens: 'stores',
    async run({ stores, args, actor, now }) {
      if (args.dryRun) {
        let agents = 0
        for await (const ids of agentsOfDomain(stores.urlClients, args.domain)) agents += ids.length
        return {
          json: { ok: true, done: false, domain: args.domain, agents },
          text: `Would block ${args.domain}, and disable ${agents} agents.`,
        }
      }
      const audit = { by: actor, reason: args.reason }
      const { head, agents } = await blockDomain(stores, args.domain, audit, now())
      return {
        json: { ok: true, done: true, domain: args.domain, agents, ...(head && { audit_head: head }) },
        text: `${args.domain} ${head ? 'is' : 'was'} blocked; ${agents} agents are disabled, and their tokens are revoked.${headText(head)}`,
      }
    },
  }),
  defineCommand({
    name: 'agents unblock',
    summary: 'accept new agents of a domain again; those that were disabled stay so until agents enable',
    parameters: { domain, reason, dryRun: DRY_RUN },
    opens: 'database',
    async run({ stores, args, actor, now }) {
      const { urlClients } = stores
      const audit = { by: actor, reason: args.reason }
      const head = args.dryRun ? undefined : await urlClients.setBlocked('unblock', args.domain, audit, now())
      const isDone = args.dryRun ? await urlClients.isDomainBlocked(args.domain) : head !== undefined
      if (!isDone) throw new Refusal(`${args.domain} is not blocked.`)
      return {
        json: { ok: true, done: !args.dryRun, domain: args.domain, ...(head && { audit_head: head }) },
        text: `${args.dryRun ? `Would unblock ${args.domain}.` : `${args.domain} is not blocked any more.`}${headText(head)}`,
      }
    },
  }),
  defineCommand({
    name: 'agents blocks',
    summary: 'list every block of a domain and its end, oldest first',
    parameters: AUDIT_PARAMETERS,
    opens: 'database',
    async run({ stores, args }) {
      return auditOutput(await stores.urlClients.blockAudit(), args, {
        entry: BlockEntry,
        text: (entries) => entries.map(entryText).join('\n'),
        none: 'No domain was ever blocked.',
      })
    },
  }),
]

const REVOKED = {
  'key-gone': 'a key is gone, so all its tokens are revoked',
  'must-be-bound': 'its tokens must be bound to a key now, so all earlier ones are revoked',
  none: 'no key is gone',
}

const headText = (head: string | undefined) => (head ? `\nAudit head: ${head}` : '')

const entryText = ({ at, step, domain: name, by, reason: why }: BlockEntry) =>
  [at, step.padEnd(7), name, `by ${by.user} on ${by.host}`, `(${why})`].join('  ')
