import { argument, DRY_RUN, InvalidArgumentError, Refusal } from '@plainpath/commands'
import { AgentId, formatCount } from '@plainpath/domain'
import { blockDomain, iterateAgentIdsOfDomain } from '../agents/block-domain.ts'
import { BlockEntry, parseDomain } from '../agents/blocked-domain.ts'
import { createFetchDocument, isUrlClient, refreshDocument } from '../agents/refresh-document.ts'
import { createClientDocumentFetcher } from '../client-documents/document-fetcher.ts'
import { AUDIT_PARAMETERS, buildAuditOutput } from './audit-output.ts'
import { defineCommand, reason } from './define-command.ts'

/** Fetches are limited by caller address. A command has no caller and makes only one fetch, so any address will do. */
const COMMAND_ADDRESS = '127.0.0.1'

const urlArgument = argument('<url>', 'the client_id of an agent, which is an https URL', (text) => {
  const id = AgentId.safeParse(text)
  if (!id.success || !isUrlClient(id.data))
    throw new InvalidArgumentError('It must be an https URL, as "agents list" shows it.')
  return id.data
})

const domainArgument = argument(
  '<domain>',
  'a domain such as agent.example.org; its subdomains are included',
  (text) => {
    const parsed = parseDomain(text)
    if (!parsed.ok) throw new InvalidArgumentError('A domain is a host name, such as agent.example.org.')
    return parsed.value
  },
)

/** The commands for URL clients, which are agents whose client_id is the URL of their document, and for their domains. */
export const agentDocumentCommands = [
  defineCommand({
    name: 'agents refresh',
    summary:
      'fetch the document of an agent now; revoke all tokens of the agent if the document lacks a stored key, begins to require bound tokens, or is invalid',
    parameters: { url: urlArgument },
    opens: 'all stores',
    getLockedResource: ({ url: id }) => id,
    async run({ config, stores, args: { url: id }, now }) {
      const agent = (await stores.agents.find(id))?.agent
      if (agent?.status !== 'active') throw new Refusal(`There is no active agent ${id}.`)
      const fetcher = createClientDocumentFetcher({ testHosts: config.clientDocumentTestHosts, now })
      const fetched = await createFetchDocument(fetcher.fetch, now)(id, COMMAND_ADDRESS, { isNew: false })
      // Publishes even without a revocation, because an earlier run may have revoked the tokens and then failed to publish.
      const { client, isRevoked } = await refreshDocument(stores, id, fetched, { publish: true })
      if (!fetched.ok) {
        const { error } = fetched
        const disableHint = formatDisableHint(id)
        if (error.kind === 'member') {
          const explanation = `The document is no longer usable (${error.member} ${error.detail}).`
          if (isRevoked)
            throw new Refusal(
              `${explanation} All tokens of ${id} are revoked. The agent can get tokens again when its document is valid.`,
            )
          const stored = (await stores.agents.find(id))?.agent
          if (stored?.status !== 'active') throw new Refusal(`There is no active agent ${id}.`)
          if (stored.documentFetchedAt && stored.documentFetchedAt > fetched.requestedAt)
            throw createLaterDocumentRefusal(id, stored.documentFetchedAt)
          throw new Refusal(
            `${explanation} No token is left to revoke: by the clock of this machine, the stored document has expired, and all tokens with it. ${disableHint}`,
          )
        }
        throw new Refusal(
          `No usable document could be fetched, so nothing was changed. The stored keys can be used until ${agent.documentExpiresAt?.toISOString() ?? 'the next request'}, and all tokens expire by then. ${disableHint}`,
        )
      }
      // The agent was disabled or deleted after the check above.
      if (!client) throw new Refusal(`There is no active agent ${id}.`)
      const expiresAt = client.expiresAt.toISOString()
      if (client.isDocumentIgnored) throw createLaterDocumentRefusal(id, client.fetchedAt)
      return {
        json: {
          ok: true,
          done: true,
          client_id: id,
          keys: client.keys.length,
          tokens_revoked: isRevoked,
          document_expires_at: expiresAt,
        },
        text: `The document of ${id} has ${formatCount(client.keys.length, 'key')} and is valid until ${expiresAt}; ${REVOCATION_TEXTS[client.revocationReason ?? 'none']}.`,
      }
    },
  }),
  defineCommand({
    name: 'agents block',
    summary: 'disable the agents of a domain and refuse new ones, at every instance',
    parameters: { domain: domainArgument, reason, dryRun: DRY_RUN },
    opens: 'all stores',
    getLockedResource: (args) => args.domain,
    async run({ stores, args, actor, now }) {
      if (args.dryRun) {
        let agentCount = 0
        for await (const ids of iterateAgentIdsOfDomain(stores.urlClients, args.domain))
          agentCount += ids.length
        return {
          json: { ok: true, done: false, domain: args.domain, agents: agentCount },
          text: `Would block ${args.domain} unless it is already blocked, and disable its agents: ${agentCount}, including any that are already disabled.`,
        }
      }
      const audit = { actor, reason: args.reason }
      const { auditHead, disabledCount } = await blockDomain(stores, args.domain, audit, now())
      return {
        json: {
          ok: true,
          done: true,
          domain: args.domain,
          agents: disabledCount,
          ...(auditHead && { audit_head: auditHead }),
        },
        text: `${args.domain} ${auditHead ? 'is' : 'was already'} blocked; ${describeDisabled(disabledCount)}.${formatAuditHead(auditHead)}`,
      }
    },
  }),
  defineCommand({
    name: 'agents unblock',
    summary:
      'accept new agents of a domain again, unless a parent domain is blocked; "agents enable" enables those that were disabled',
    parameters: { domain: domainArgument, reason, dryRun: DRY_RUN },
    opens: 'database',
    getLockedResource: (args) => args.domain,
    async run({ stores, args, actor, now }) {
      const { urlClients } = stores
      const audit = { actor, reason: args.reason }
      const auditHead = args.dryRun
        ? undefined
        : await urlClients.setBlocked('unblock', args.domain, audit, now())
      const wasBlocked = args.dryRun ? await urlClients.isDomainBlocked(args.domain) : auditHead !== undefined
      if (!wasBlocked) throw new Refusal(`There is no block of ${args.domain}.`)
      return {
        json: {
          ok: true,
          done: !args.dryRun,
          domain: args.domain,
          ...(auditHead && { audit_head: auditHead }),
        },
        text: `${args.dryRun ? `Would unblock ${args.domain}.` : `The block of ${args.domain} is removed.`}${formatAuditHead(auditHead)}`,
      }
    },
  }),
  defineCommand({
    name: 'agents blocks',
    summary: 'list the audit log of "agents block" and "agents unblock", oldest entry first',
    parameters: AUDIT_PARAMETERS,
    opens: 'database',
    async run({ stores, args }) {
      return buildAuditOutput(await stores.urlClients.readBlockAudit(), args, {
        entrySchema: BlockEntry,
        formatEntries: (entries) => entries.map(formatEntry).join('\n'),
        emptyText: 'No domain has ever been blocked.',
      })
    },
  }),
]

const formatDisableHint = (id: AgentId) => `To revoke the tokens in any case, run: auth agents disable ${id}`

/** An instance has stored a document that it requested later, or the clock of this machine is slow. */
const createLaterDocumentRefusal = (id: AgentId, fetchedAt: Date) =>
  new Refusal(
    `Nothing was changed: the stored document was requested at ${fetchedAt.toISOString()}. By the clock of this machine, that is after this command started. Set the clock right if it is wrong, then run the same command again. ${formatDisableHint(id)}`,
  )

const REVOCATION_TEXTS = {
  'key-removed': 'a key was removed, so all tokens of the agent are revoked',
  'binding-required': 'tokens must be bound to a key now, so all earlier tokens of the agent are revoked',
  none: 'no key was removed, so no token was revoked',
}

const describeDisabled = (agentCount: number) =>
  agentCount === 1
    ? '1 agent is disabled, and its tokens are revoked'
    : `${agentCount} agents are disabled, and their tokens are revoked`

const formatAuditHead = (head: string | undefined) => (head ? `\nAudit head: ${head}` : '')

const formatEntry = ({ at, step, domain, by, reason: recordedReason }: BlockEntry) =>
  [at, step.padEnd(7), domain, `by ${by.user} on ${by.host}`, `(${recordedReason})`].join('  ')
