import { DRY_RUN, option, refuseFileError } from '@plainpath/commands'
import { readLog } from '@plainpath/http'
import { readErasures, replayErasures } from '../erasure-log.ts'
import { reencryptDataKeys } from '../reencrypt-data-keys.ts'
import { defineCommand } from './define-command.ts'

/** The commands `rewrap`, for a new key-encryption key, and `replay`, for use after a restore. */
export const restoreCommands = [
  defineCommand({
    name: 'rewrap',
    summary:
      're-encrypt the data keys of waitlist addresses and messages under the newest key-encryption key',
    parameters: { dryRun: DRY_RUN },
    settings: ['RESOURCE_KEK_FILE'],
    opens: 'database',
    async run({ db, settings, args: { dryRun } }) {
      const { addresses, messages } = await reencryptDataKeys(db, settings.RESOURCE_KEK_FILE, {
        dryRun,
      })
      return {
        json: { ok: true, done: !dryRun && addresses + messages > 0, addresses, messages },
        text: `${dryRun ? 'Would re-encrypt' : 'Re-encrypted'} ${addresses} addresses of the waitlist and ${messages} encrypted values of messages.`,
      }
    },
  }),
  defineCommand({
    name: 'replay',
    summary:
      'after a restore, erase again every entry and message that the log records as erased; the audit records this',
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
          text: `Would erase again up to ${describeCounts(erasuresInLog)}: the log records them as erased.`,
        }
      const erased = await replayErasures(db, erasures, { actor: operator.user, now: now() })
      return {
        json: { ok: true, done: true, told: erasuresInLog, erased },
        text: `The log names ${describeCounts(erasuresInLog)}. Of these, ${describeCounts(erased)} still existed and were erased.`,
      }
    },
  }),
]

const describeCounts = ({ entries, messages }: { entries: number; messages: number }) =>
  `${entries} waitlist ${entries === 1 ? 'entry' : 'entries'} and ${messages} ${messages === 1 ? 'message' : 'messages'}`
