import { Option } from 'commander'
import type { Command } from './command.ts'
import type { CommandLine } from './command-line.ts'

const BEGINNING = `# Commands

Made from the command tables of both apps by \`npm run generate\`. In a clone \`auth …\` is \`npm run auth -- …\`, and \`resource …\` is
\`npm run resource -- …\`; [in a pod](kubernetes.md#commands) it is longer. Each takes \`--help\`. Exit codes: 0 done, 1 refused or
failed, 2 wrong usage or settings. With \`--json\` a command prints one JSON value, also when it refuses: \`ok\` is then false.

A command needs nothing but what it opens: the *database* is PostgreSQL, the *stores* are PostgreSQL and, where \`AUTH_REDIS_URL\` is
set, Redis. \`serve\` opens all that its app needs, and \`migrate\` connects as the owner of the tables.
`

/** The reference of all commands, docs/commands.md. */
export const commandsPage = (lines: readonly CommandLine<never>[]): string =>
  [
    BEGINNING,
    ...lines.map((line) =>
      [
        `## ${line.name}\n`,
        `${line.description}.\n`,
        ...line.commands.map((each) => section(line.name, each)),
      ].join('\n'),
    ),
  ].join('\n')

function section(app: string, command: Command<never>): string {
  const declared = Object.values(command.parameters ?? {}).map((each) => each.declared)
  const rows = declared.map((each) => {
    const [usage, given] =
      each instanceof Option
        ? [each.flags, each.mandatory]
        : [each.required ? `<${each.name()}>` : `[${each.name()}]`, each.required]
    const fallback = each.defaultValue === undefined ? '' : ` (default: ${each.defaultValue})`
    return `| \`${usage}\` | ${given ? '**required**: ' : ''}${each.description}${fallback} |`
  })
  const settings =
    command.settings === 'all' ? 'all' : command.settings.map((name) => `\`${name}\``).join(', ')
  const needs = [
    `Settings: ${settings || 'none'}.`,
    command.opens === undefined ? '' : `Opens: ${command.opens}.`,
    command.json === false ? 'No `--json`.' : '',
  ]
  return [
    `### ${app} ${command.name}`,
    '',
    `${command.summary.charAt(0).toUpperCase()}${command.summary.slice(1)}.`,
    '',
    ...(rows.length > 0 ? ['| | |', '|---|---|', ...rows, ''] : []),
    needs.filter(Boolean).join(' '),
    '',
  ].join('\n')
}
