import { readLog } from '@plainpath/http'
import type { Command } from 'commander'
import { endsInLog } from './ends-in-log.ts'
import { replayEnds } from './replay-ends.ts'

export interface ReplayCommandDeps {
  io: { print(line: string): void }
  refuse(text: string): Error
  ending<T>(work: (deps: Parameters<typeof replayEnds>[1]) => Promise<T>): Promise<T>
}

/** `auth replay`: after a restore, what ended since the backup ends again. */
export function addReplayCommand(program: Command, { io, refuse, ending }: ReplayCommandDeps): void {
  program
    .command('replay')
    .description('after a restore: end again every client, claim and secret that the log says had ended')
    .requiredOption(
      '--log <path>',
      'what the server and its commands logged since the backup; - reads it from a pipe',
    )
    .option('--json', 'for programs')
    .option('--dry-run', 'say what the log tells of, and change nothing')
    .action(async (options: { log: string; json?: boolean; dryRun?: boolean }) => {
      const ends = await endsInLog(readLog(options.log)).catch((error: unknown) => {
        const { code, syscall } = error as NodeJS.ErrnoException
        throw code && syscall ? refuse(`${options.log} cannot be read (${code}).`) : error
      })
      const told = { clients: ends.clients.size, claims: ends.claims.size, secrets: ends.secrets.size }
      const done = options.dryRun ? told : await ending((deps) => replayEnds(ends, deps))
      const count = ({ clients, claims, secrets }: typeof told) =>
        `${clients} clients, ${claims} claims and ${secrets} secrets`
      io.print(
        options.json
          ? JSON.stringify({ ok: true, done: !options.dryRun, told, ...(!options.dryRun && { ended: done }) })
          : options.dryRun
            ? `The log tells of the end of ${count(told)}.`
            : `Ended again: ${count(done)}, of ${count(told)} that the log tells of.`,
      )
    })
}
