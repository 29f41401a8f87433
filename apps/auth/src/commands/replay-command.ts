import { DRY_RUN, option, refuseFileError } from '@plainpath/commands'
import { readLog } from '@plainpath/http'
import {
  type ReplayedRevocations,
  readLoggedRevocations,
  replayRevocations,
} from '../replay/replay-revocations.ts'
import { defineCommand } from './define-command.ts'

export const replayCommand = defineCommand({
  name: 'replay',
  summary:
    'after a restore: revoke again every client, claim and secret that the log says was revoked, and block domains; disable clients whose newer credentials the backup lacks',
  parameters: {
    log: option(
      '--log <path>',
      'the log of the server and its commands since the backup, without earlier lines; - reads standard input',
      { required: true },
    ),
    dryRun: DRY_RUN,
  },
  opens: 'stores',
  async run({ stores, args, now, actor }) {
    const loggedRevocations = await readLoggedRevocations(readLog(args.log)).catch(
      refuseFileError((code) => `${args.log} cannot be read (${code}).`),
    )
    const revocationsInLog: ReplayedRevocations = {
      clients: loggedRevocations.clients.size,
      claims: loggedRevocations.claims.size,
      secrets: loggedRevocations.secrets.size,
      changed: new Set([...loggedRevocations.newKeys, ...loggedRevocations.addedSecrets.values()]).size,
      documents: loggedRevocations.documents.size,
      domains: loggedRevocations.domains.size,
    }
    if (args.dryRun)
      return {
        json: { ok: true, done: false, told: revocationsInLog },
        text: `The log contains the revocation of ${formatCounts(revocationsInLog)}, and new credentials of ${revocationsInLog.changed} clients.`,
      }
    const replayed = await replayRevocations(loggedRevocations, stores, { now, by: actor })
    return {
      json: { ok: true, done: true, told: revocationsInLog, ended: replayed },
      text: `Revoked again ${formatCounts(replayed)}, of ${formatCounts(revocationsInLog)} in the log. Disabled ${replayed.changed} of ${revocationsInLog.changed} clients, since the backup lacks their new credentials.`,
    }
  },
})

const formatCounts = ({ clients, claims, secrets, documents, domains }: ReplayedRevocations) =>
  `${clients} clients, ${claims} claims, ${secrets} secrets, ${documents} changed documents and ${domains} blocked domains`
