import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import type { AppName } from '@plainpath/metadata'

const WORKSPACES = ['apps', 'packages']

/**
 * Writes the files of a commit to `folder`, to run with the dependencies that are installed here: nothing is
 * downloaded. If a version differs, the one that is installed is used, so only the commit's own code is tried.
 *
 * @param root of this clone
 * @param commit what `git archive` accepts: a commit, a tag or a branch
 * @throws {Error} that names a dependency that is not installed here
 */
export function checkOut(root: string, commit: string, folder: string): void {
  mkdirSync(folder, { recursive: true })
  const archive = path.join(folder, 'commit.tar')
  execFileSync('git', ['archive', '--output', archive, commit], { cwd: root })
  execFileSync('tar', ['-xf', archive, '-C', folder])
  const places = packagesIn(folder)
  const own = new Map(places.map((place) => [readManifest(folder, place).name, place]))
  const here = packagesIn(root)
  for (const place of places) {
    for (const name of Object.keys(readManifest(folder, place).dependencies ?? {})) {
      const ours = own.get(name)
      const target = ours ? path.join(folder, ours) : installed(root, [place, ...here], name)
      const link = path.join(folder, place, 'node_modules', name)
      mkdirSync(path.dirname(link), { recursive: true })
      symlinkSync(target, link)
    }
  }
}

const packagesIn = (root: string) =>
  WORKSPACES.flatMap((group) => readdirSync(path.join(root, group)).map((name) => `${group}/${name}`)).filter(
    (place) => existsSync(path.join(root, place, 'package.json')),
  )

const readManifest = (root: string, place: string) =>
  JSON.parse(readFileSync(path.join(root, place, 'package.json'), 'utf8')) as {
    name: string
    dependencies?: Record<string, string>
  }

function installed(root: string, places: readonly string[], name: string): string {
  const found = [...places, 'node_modules/.pnpm']
    .map((place) => path.join(root, place, 'node_modules', name))
    .find((candidate) => existsSync(candidate))
  if (!found) throw new Error(`that commit needs ${name}, which is not installed here`)
  return realpathSync(found)
}

/** Returns the settings in `env` that an app knows whose code is below `root`: it refuses others. */
export function settingsKnownTo(
  root: string,
  app: AppName,
  env: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const src = path.join(root, 'apps', app, 'src')
  const text = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => readFileSync(path.join(src, file), 'utf8'))
    .join('\n')
  const settingNames = new Set(text.match(new RegExp(`\\b${app.toUpperCase()}_[A-Z_]+\\b`, 'g')))
  return Object.fromEntries(Object.entries(env).filter(([setting]) => settingNames.has(setting)))
}
