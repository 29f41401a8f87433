import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { AUTH_COMMANDS } from '@plainpath/auth/cli'
import { formatCommandsPage } from '@plainpath/commands'
import { RESOURCE_COMMANDS } from '@plainpath/resource/cli'
import { expect, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '../../..')
const COMMAND_LINES = [AUTH_COMMANDS, RESOURCE_COMMANDS]

test('docs/commands.md is what `npm run generate` writes', () => {
  expect(readFileSync(path.join(root, 'docs/commands.md'), 'utf8')).toBe(formatCommandsPage(COMMAND_LINES))
})

/**
 * Matches a command in a document: `auth keys list`, `npm run auth -- keys list`, `apps/auth/src/main.ts keys list`, or, for the
 * bundle in an image, `--disable-proto=throw auth.mjs keys list`.
 */
const COMMAND =
  /(?:`|^\$ |npm run |apps\/|=throw )(auth|resource)(?:\/src\/main\.ts|\.mjs| --)? ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?/gm

test('documents name only commands that exist', () => {
  const files = globSync(['*.md', 'docs/**/*.md', 'infra/**/*.md', 'apps/*/README.md', 'e2e/**/*.md'], {
    cwd: root,
    exclude: ['**/node_modules'],
  })
  const mentions = files.flatMap((file) =>
    Array.from(
      readFileSync(path.join(root, file), 'utf8').matchAll(COMMAND),
      ([, app, firstWord = '', secondWord = '']) => ({
        file,
        app,
        possibleNames: [firstWord, `${firstWord} ${secondWord}`],
      }),
    ),
  )
  // A small number would mean that the regular expression no longer matches how the documents write commands.
  expect(mentions.length).toBeGreaterThan(50)
  const isCommand = (app: string | undefined, name: string) =>
    COMMAND_LINES.some((line) => line.name === app && line.commands.some((command) => command.name === name))
  expect(
    mentions.filter(({ app, possibleNames }) => !possibleNames.some((name) => isCommand(app, name))),
  ).toEqual([])
})
