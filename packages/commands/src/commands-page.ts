import { Option } from 'commander'
import type { Command } from './command.ts'
import type { CommandLine } from './command-line.ts'

const INTRODUCTION = `# Commands

\`npm run generate\` writes this page from the command tables of both apps. In a clone, \`auth …\` means \`npm run auth -- …\`, and
\`resource …\` means \`npm run resource -- …\`. [In a pod](kubernetes.md#commands), the command line is longer. Every command has \`--help\`.
Exit codes: 0 done, 1 refused or failed, 2 wrong usage or settings. With \`--json\`, a command prints one JSON value, even if it refuses.

Below each command, *Settings* lists the settings that the command reads. *Opens* lists the stores that it connects to, which must be
available: the *database* is PostgreSQL, and *all stores* are PostgreSQL and, if \`AUTH_REDIS_URL\` is set, Redis. Some commands without
*Opens* connect too: \`serve\` to everything that its app needs, and \`migrate\`, \`backup\` and \`restore\` to PostgreSQL as the owner of the
tables.
`

/** Formats docs/commands.md, the reference of all commands. It runs none, so their contexts may have any types (`never`). */
export const formatCommandsPage = (commandLines: readonly CommandLine<never>[]): string =>
  [
    INTRODUCTION,
    ...commandLines.map(({ name, description, commands }) =>
      [`## ${name}\n`, `${description}.\n`, ...commands.map((command) => formatSection(name, command))].join(
        '\n',
      ),
    ),
  ].join('\n')

function formatSection(app: string, command: Command<never>): string {
  const parameters = Object.values(command.parameters ?? {})
  const rows = parameters.map(({ declaration }) => {
    const [usage, isRequired] =
      declaration instanceof Option
        ? [declaration.flags, declaration.mandatory]
        : [declaration.required ? `<${declaration.name()}>` : `[${declaration.name()}]`, declaration.required]
    const defaultNote =
      declaration.defaultValue === undefined ? '' : ` (default: ${declaration.defaultValue})`
    return `| \`${usage}\` | ${isRequired ? '**required**: ' : ''}${declaration.description}${defaultNote} |`
  })
  const settings =
    command.settings === 'all' ? 'all' : command.settings.map((name) => `\`${name}\``).join(', ')
  const notes = [
    `Settings: ${settings || 'none'}.`,
    command.opens === undefined ? '' : `Opens: ${command.opens}.`,
    command.json === false ? 'No `--json`.' : '',
  ]
  return [
    `### ${app} ${command.name}`,
    '',
    `${command.summary.charAt(0).toUpperCase()}${command.summary.slice(1)}.`,
    '',
    ...(rows.length > 0 ? ['| parameter | meaning |', '|---|---|', ...rows, ''] : []),
    notes.filter(Boolean).join(' '),
    '',
  ].join('\n')
}
