import { DRY_RUN, option, refuseFileError } from '@plainpath/commands'
import { readLog } from '@plainpath/http'
import { readErasures, replayErasures } from '../erasure-log.ts'
import { reencryptDataKeys } from '../reencrypt-data-keys.ts'
import { defineCommand } from './define-command.ts'

export const restoreCommands = [
  defineCommand({
    name: 'rewrap',
    summary: 're-encrypt every address and message under the newest key-encryption key',
    parameters: { dryRun: DRY_RUN },
    settings: ['RESOURCE_KEK_FILE'],
    opens: 'database',
    async run({ db, settings, args: { dryRun } }) {
      const { addresses, messages } = await reencryptDataKeys(db, settings.RESOURCE_KEK_FILE, {
        dryRun,
      })
      return {
        json: { ok: true, done: !dryRun && addresses + messages > 0, addresses, messages },
        text: `${dryRun ? 'Would re-encrypt' : 'Re-encrypted'} ${addresses} addresses of the waitlist and ${messages} values of messages.`,
      }
    },
  }),
  defineCommand({
    name: 'replay',
    summary:
      'after a restore: erase again every entry and message that the log says was erased; it is audited',
    parameters: {
      log: option('--log <path>', 'the log of the API and its commands since the backup; - reads a pipe', {
        required: true,
      }),
      dryRun: DRY_RUN,
    },
    opens: 'database',
    async run({ db, args, operator, now }) {
      const erasures = await readErasures(readLog(args.log)).catch(
        refuseFileError((code) => `${args.log} cannot be read (${code}).`),
      )
      const erasuresInLog = { entries: erasures.entries.size, messages: erasures.messages.size }
      if (args.dryRun)
        return {
          json: { ok: true, done: false, told: erasuresInLog },
          text: `The log says that ${describeCounts(erasuresInLog)} were erased.`,
        }
      const erased = await replayErasures(db, erasures, { actor: operator.user, now: now() })
      return {
        json: { ok: true, done: true, told: erasuresInLog, erased },
        text: `Erased again: ${describeCounts(erased)}, of ${describeCounts(erasuresInLog)} that the log names.`,
      }
    },
  }),
]

const describeCounts = ({ entries, messages }: { entries: number; messages: number }) =>
  `${entries} entries of the waitlist and ${messages} messages`
