import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'

/**
 * Lists the folders of the workspace, the root first, as pnpm-workspace.yaml names them: `folder` or `folder/*`.
 *
 * @param {string} root
 */
function workspaceFolders(root) {
  const yaml = readFileSync(path.join(root, 'pnpm-workspace.yaml'), 'utf8')
  const entries = /^packages:\n((?: +- .+\n)+)/m.exec(yaml)?.[1]?.match(/[^\s'"-][^\s'"]*/g) ?? []
  const folders = entries.flatMap((entry) => {
    if (!entry.endsWith('/*')) return [path.join(root, entry)]
    const parent = path.join(root, entry.slice(0, -2))
    return existsSync(parent) ? readdirSync(parent).map((name) => path.join(parent, name)) : []
  })
  return [root, ...folders.filter((folder) => existsSync(path.join(folder, 'package.json'))).sort()]
}

/** @param {string} root */
export function foldersWithDependencies(root) {
  return workspaceFolders(root).filter((folder) => {
    const manifest = /** @type {{ dependencies?: object, devDependencies?: object }} */ (
      JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
    )
    return Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).length > 0
  })
}

/**
 * Names the installation that the checkout asks for: it changes whenever a dependency may have.
 *
 * @param {string} root
 */
export function wantedInstallation(root) {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`)
  const manifests = workspaceFolders(root).map((folder) => path.join(folder, 'package.json'))
  for (const name of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) manifests.push(path.join(root, name))
  for (const manifest of manifests)
    hash.update(`\0${path.relative(root, manifest)}\0`).update(readFileSync(manifest))
  return hash.digest('hex')
}
