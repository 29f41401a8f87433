import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import type { AppName } from '@plainpath/metadata'

const WORKSPACES = ['apps', 'packages']

/**
 * Writes the files of a commit to `folder` and links the dependencies of this clone, so that nothing is downloaded. The installed
 * versions may differ from those of the commit: only the commit's own code is tested.
 *
 * @param root the root of this clone
 * @param commit a commit, a tag or a branch, for `git archive`
 * @throws {Error} naming a dependency that is not installed here
 */
export function checkOutCommit(root: string, commit: string, folder: string): void {
  mkdirSync(folder, { recursive: true })
  const archive = path.join(folder, 'commit.tar')
  execFileSync('git', ['archive', '--output', archive, commit], { cwd: root })
  execFileSync('tar', ['-xf', archive, '-C', folder])
  const packageFolders = listPackages(folder)
  const ownPackages = new Map(
    packageFolders.map((packageFolder) => [readManifest(folder, packageFolder).name, packageFolder]),
  )
  const installedPackages = listPackages(root)
  for (const packageFolder of packageFolders) {
    for (const name of Object.keys(readManifest(folder, packageFolder).dependencies ?? {})) {
      const ownFolder = ownPackages.get(name)
      const target = ownFolder
        ? path.join(folder, ownFolder)
        : findInstalled(root, [packageFolder, ...installedPackages], name)
      const link = path.join(folder, packageFolder, 'node_modules', name)
      mkdirSync(path.dirname(link), { recursive: true })
      symlinkSync(target, link)
    }
  }
}

const listPackages = (root: string) =>
  WORKSPACES.flatMap((group) => readdirSync(path.join(root, group)).map((name) => `${group}/${name}`)).filter(
    (packageFolder) => existsSync(path.join(root, packageFolder, 'package.json')),
  )

const readManifest = (root: string, packageFolder: string) =>
  JSON.parse(readFileSync(path.join(root, packageFolder, 'package.json'), 'utf8')) as {
    name: string
    dependencies?: Record<string, string>
  }

/** Finds the folder of an installed dependency. @throws {Error} if it is not installed */
function findInstalled(root: string, packageFolders: readonly string[], name: string): string {
  // Into the last folder, pnpm hoists the dependencies of dependencies.
  const installedFolder = [...packageFolders, 'node_modules/.pnpm']
    .map((packageFolder) => path.join(root, packageFolder, 'node_modules', name))
    .find((candidate) => existsSync(candidate))
  if (!installedFolder) throw new Error(`that commit needs ${name}, which is not installed here`)
  return realpathSync(installedFolder)
}

/** Selects the settings in `env` that an app's code below `root` names. The app would refuse to start with any other. */
export function selectKnownSettings(
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
