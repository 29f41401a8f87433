import { readLog } from '@plainpath/http'
import type { Command } from 'commander'
import { endsInLog } from './ends-in-log.ts'
import { type ReplayedEnds, replayEnds } from './replay-ends.ts'

export interface ReplayCommandDeps {
  io: { print(line: string): void }
  refuse(text: string): Error
  ending<T>(work: (deps: Parameters<typeof replayEnds>[1]) => Promise<T>): Promise<T>
}

/** `auth replay`: after a restore, what ended since the backup ends again. */
export function addReplayCommand(program: Command, { io, refuse, ending }: ReplayCommandDeps): void {
  program
    .command('replay')
    .description(
      'after a restore: end again every client, claim and secret that the log says had ended; disable who has other credentials since',
    )
    .requiredOption(
      '--log <path>',
      'what the server and its commands logged since the backup, and nothing before; - reads it from a pipe',
    )
    .option('--json', 'for programs')
    .option('--dry-run', 'say what the log tells of, and change nothing')
    .action(async (options: { log: string; json?: boolean; dryRun?: boolean }) => {
      const ends = await endsInLog(readLog(options.log)).catch((error: unknown) => {
        const { code, syscall } = error as NodeJS.ErrnoException
        throw code && syscall ? refuse(`${options.log} cannot be read (${code}).`) : error
      })
      const { clients, claims, secrets, newKeys, addedSecrets } = ends
      const changed = new Set([...newKeys, ...addedSecrets.values()]).size
      const told = { clients: clients.size, claims: claims.size, secrets: secrets.size, changed }
      const done = options.dryRun ? told : await ending((deps) => replayEnds(ends, deps))
      io.print(
        options.json
          ? JSON.stringify({ ok: true, done: !options.dryRun, told, ...(!options.dryRun && { ended: done }) })
          : options.dryRun
            ? `The log tells of the end of ${ended(told)}, and of new credentials of ${changed} clients.`
            : `Ended again: ${ended(done)}, of ${ended(told)} that the log tells of. Disabled, since the backup lacks their new credentials: ${done.changed} of ${changed} clients.`,
      )
    })
}

const ended = ({ clients, claims, secrets }: ReplayedEnds) =>
  `${clients} clients, ${claims} claims and ${secrets} secrets`
