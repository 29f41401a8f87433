import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import type { Release } from './newest-release.ts'

const WORKSPACES = ['apps', 'packages']

/**
 * Writes the files of a release to `folder`, to run with the dependencies that are installed here: nothing is
 * downloaded. If a version differs, the newer one is used, so this tests only the release's own code.
 *
 * @throws {Error} that names a dependency that is no longer installed here
 */
export function checkOut(root: string, { commit }: Pick<Release, 'commit'>, folder: string): void {
  mkdirSync(folder, { recursive: true })
  const archive = path.join(folder, 'release.tar')
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
  if (!found) throw new Error(`the release needs ${name}, which is not installed here any more`)
  return realpathSync(found)
}
