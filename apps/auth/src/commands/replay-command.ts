import { DRY_RUN, option, readLogFile } from '@plainpath/commands'
import { formatCount } from '@plainpath/domain'
import {
  type ReplayedRevocations,
  readLoggedRevocations,
  replayRevocations,
} from '../replay/replay-revocations.ts'
import { defineCommand } from './define-command.ts'

export const replayCommand = defineCommand({
  name: 'replay',
  summary:
    'after a restore: repeat the revocations and domain blocks that the log records, and disable clients whose newer credentials the backup lacks',
  parameters: {
    log: option(
      '--log <path>',
      'the log of the server and its commands since the backup; - reads standard input',
      { required: true },
    ),
    dryRun: DRY_RUN,
  },
  opens: 'all stores',
  async run({ stores, args, now, actor }) {
    const loggedRevocations = await readLoggedRevocations(readLogFile(args.log))
    const revocationsInLog: ReplayedRevocations = {
      clients: loggedRevocations.clients.size,
      claims: loggedRevocations.claims.size,
      secrets: loggedRevocations.secrets.size,
      // Counts a client once, even if both its keys and its secrets changed.
      changed: new Set([...loggedRevocations.newKeys.keys(), ...loggedRevocations.addedSecrets.values()])
        .size,
      documents: loggedRevocations.documents.size,
      domains: loggedRevocations.domains.size,
    }
    if (args.dryRun)
      return {
        json: { ok: true, done: false, told: revocationsInLog },
        text: `The log records ${formatCounts(revocationsInLog)}, and new credentials of ${formatCount(revocationsInLog.changed, 'client')}. Nothing was changed.`,
      }
    const replayed = await replayRevocations(loggedRevocations, stores, { now, actor })
    return {
      json: { ok: true, done: true, told: revocationsInLog, ended: replayed },
      text: [
        `The log records ${formatCounts(revocationsInLog)}.`,
        `Repeated: ${formatCounts(replayed)}.`,
        `Of ${formatCount(revocationsInLog.changed, 'client')} with new credentials in the log, disabled because the backup lacks these: ${replayed.changed}.`,
      ].join('\n'),
    }
  },
})

const formatCounts = ({ clients, claims, secrets, documents, domains }: ReplayedRevocations) =>
  `${formatCount(clients, 'revoked client')}, ${formatCount(claims, 'revoked e-mail verification')}, ${formatCount(secrets, 'removed secret')}, ${formatCount(documents, 'changed client document')} and ${formatCount(domains, 'blocked domain')}`
