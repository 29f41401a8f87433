import { DRY_RUN, option, refuseFileError } from '@plainpath/commands'
import { readLog } from '@plainpath/http'
import { type ReplayedEnds, readEndedInLog, replayEnds } from '../replay/replay-ends.ts'
import { defineCommand } from './define-command.ts'

export const replayCommand = defineCommand({
  name: 'replay',
  summary:
    'after a restore: revoke again every client, claim and secret that the log says was revoked, and block domains; disable clients whose newer credentials the backup lacks',
  parameters: {
    log: option(
      '--log <path>',
      'what the server and its commands logged since the backup, and nothing before; - reads standard input',
      { required: true },
    ),
    dryRun: DRY_RUN,
  },
  opens: 'stores',
  async run({ stores, args, now, actor }) {
    const ends = await readEndedInLog(readLog(args.log)).catch(
      refuseFileError((code) => `${args.log} cannot be read (${code}).`),
    )
    const revocationsInLog: ReplayedEnds = {
      clients: ends.clients.size,
      claims: ends.claims.size,
      secrets: ends.secrets.size,
      changed: new Set([...ends.newKeys, ...ends.addedSecrets.values()]).size,
      documents: ends.documents.size,
      domains: ends.domains.size,
    }
    if (args.dryRun)
      return {
        json: { ok: true, done: false, told: revocationsInLog },
        text: `The log contains the revocation of ${counts(revocationsInLog)}, and new credentials of ${revocationsInLog.changed} clients.`,
      }
    const ended = await replayEnds(ends, stores, { now, by: actor })
    return {
      json: { ok: true, done: true, told: revocationsInLog, ended },
      text: `Revoked again ${counts(ended)}, of ${counts(revocationsInLog)} in the log. Disabled ${ended.changed} of ${revocationsInLog.changed} clients, since the backup lacks their new credentials.`,
    }
  },
})

const counts = ({ clients, claims, secrets, documents, domains }: ReplayedEnds) =>
  `${clients} clients, ${claims} claims, ${secrets} secrets, ${documents} changed documents and ${domains} blocked domains`
