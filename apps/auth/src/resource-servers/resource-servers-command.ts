import { writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { createResourceServer } from './create-resource-server.ts'
import { ResourceServer } from './resource-servers.ts'

/** `auth resource-servers create`: an entry for AUTH_RESOURCE_SERVERS_FILE and the secret for the API that it names. */
export function addResourceServersCommand(
  program: Command,
  { io, refuse }: { io: { print(line: string): void }; refuse(text: string): Error },
): void {
  const command = program.command('resource-servers').description('APIs that may introspect tokens')
  command
    .command('create <client_id>')
    .description('make a credential; prints the entry for AUTH_RESOURCE_SERVERS_FILE')
    .requiredOption('--audience <url>', 'the API root, whose tokens it may introspect')
    .requiredOption('--secret-file <path>', 'where to write the secret; the file must not exist yet')
    .action(async (clientId: string, options: { audience: string; secretFile: string }) => {
      const { server, secret } = createResourceServer(clientId, options.audience)
      const checked = ResourceServer.safeParse(server)
      if (!checked.success)
        throw refuse('client_id must be rs_ and up to 60 of A-Z a-z 0-9 _ -, and the audience a URL.')
      await writeFile(options.secretFile, `${secret}\n`, { mode: 0o600, flag: 'wx' }).catch(
        (error: unknown) => {
          throw refuse(
            `The secret file cannot be written (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'}).`,
          )
        },
      )
      io.print(JSON.stringify([checked.data], null, 2))
    })
}
