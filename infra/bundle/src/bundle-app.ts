import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type OutputChunk, type Plugin, RolldownMagicString, rolldown } from 'rolldown'

const ROOT = path.resolve(import.meta.dirname, '../../..')
export const APPS = ['auth', 'resource'] as const
export type App = (typeof APPS)[number]

/** Optional dependencies that are left out. `pg` loads them only for libpq and on Cloudflare, and the apps use neither. */
const UNBUNDLED = ['pg-native', 'pg-cloudflare']

/**
 * Bundles an app and its dependencies into `APP.mjs`, and writes a source map and the licences of all bundled registry packages
 * beside it. Data files, such as migrations, templates and guides, are copied to the paths that they have in the repository.
 *
 * @param outputFolder the folder to write to, which is deleted first
 */
export async function bundleApp(app: App, outputFolder: string): Promise<void> {
  await rm(outputFolder, { recursive: true, force: true })
  const bundle = await rolldown({
    input: path.join(ROOT, `apps/${app}/src/main.ts`),
    cwd: ROOT,
    platform: 'node',
    external: UNBUNDLED,
    // `depd` calls `eval` with code that names variables of `depd`. That works, because a bundle that is not minified keeps the names.
    checks: { eval: false },
    plugins: [rebaseModuleUrls, escapeTaggedTemplates],
  })
  const { output } = await bundle.write({
    dir: outputFolder,
    entryFileNames: `${app}.mjs`,
    format: 'esm',
    codeSplitting: false,
    sourcemap: true,
    // V8 keeps the text of the bundle in memory, with two bytes for each character if a single character is outside Latin-1.
    minify: { compress: false, mangle: false, codegen: { asciiOnly: true, removeWhitespace: false } },
    comments: false,
  })
  await bundle.close()
  const chunks = output.filter((file): file is OutputChunk => file.type === 'chunk')
  const modules = chunks.flatMap(({ moduleIds }) => moduleIds).filter((id) => path.isAbsolute(id))
  await copyData(modules, outputFolder)
  await writeFile(path.join(outputFolder, `${app}.licences.txt`), await collectLicences(modules))
}

/**
 * Replaces `import.meta.url` in each source file. The new URL has the file's path in the repository, but below the output folder.
 * A path relative to it therefore leads to the copied data file.
 */
const rebaseModuleUrls: Plugin = {
  name: 'rebase-module-urls',
  transform: {
    filter: { id: /\.ts$/, code: /import\.meta\.url/ },
    handler(code, id) {
      const relativePath = path.relative(ROOT, id).split(path.sep).join('/')
      const rewritten = new RolldownMagicString(code)
      rewritten.replaceAll(
        'import.meta.url',
        `new URL(${JSON.stringify(relativePath)}, import.meta.url).href`,
      )
      return {
        code: rewritten.toString(),
        map: rewritten.generateMap({ hires: true, source: id }).toString(),
      }
    },
  },
}

/** Escapes all characters outside ASCII. `asciiOnly` leaves those in tagged templates, because a tag could read the raw text. Our tags do not. */
const escapeTaggedTemplates: Plugin = {
  name: 'escape-tagged-templates',
  transform: {
    filter: { id: /\.ts$/, code: /[^\0-\x7F]/ },
    handler(code, id) {
      const escaped = new RolldownMagicString(code)
      for (const character of new Set(code.match(/[^\0-\x7F]/gu)))
        escaped.replaceAll(character, escapeCodeUnits(character))
      return { code: escaped.toString(), map: escaped.generateMap({ hires: true, source: id }).toString() }
    },
  },
}

const escapeCodeUnits = (text: string) =>
  text
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')

/** Copies the data files of every workspace package that has a module in the bundle. */
async function copyData(modules: readonly string[], outputFolder: string) {
  const packagePaths = new Set(
    modules.flatMap((id) => /^(?:apps|packages)\/[^/]+/.exec(path.relative(ROOT, id))?.[0] ?? []),
  )
  for (const packagePath of packagePaths) {
    const packageFolder = path.join(ROOT, packagePath)
    const entries = await readdir(packageFolder, { recursive: true, withFileTypes: true })
    for (const entry of entries) {
      const file = path.join(entry.parentPath, entry.name)
      if (!entry.isFile() || !isDataFile(path.relative(packageFolder, file))) continue
      const target = path.join(outputFolder, path.relative(ROOT, file))
      await mkdir(path.dirname(target), { recursive: true })
      await cp(file, target)
    }
  }
}

/**
 * Returns whether a file of a workspace package is copied. All files are, except TypeScript, tests, dependencies, README files and
 * manifests. Some of the copied files, such as the examples of `packages/answers`, are not read by an app.
 *
 * @param relativePath the path within the package
 */
const isDataFile = (relativePath: string) =>
  !/(?:^|\/)(?:node_modules|test|testing)\/|\.m?ts$|(?:^|\/)(?:README\.md|package\.json)$/.test(relativePath)

/** Collects the licences of all registry packages in the bundle. */
async function collectLicences(modules: readonly string[]): Promise<string> {
  // With pnpm, a module's path has several `node_modules` folders. The name of the package follows the last one.
  const packageFolders = new Set(
    modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? []),
  )
  const texts = await Promise.all([...packageFolders].map(readLicence))
  return texts.toSorted().join(`\n${'-'.repeat(80)}\n\n`)
}

/** Reads the name, version and licence files of a package. */
async function readLicence(packageFolder: string): Promise<string> {
  const manifest = JSON.parse(await readFile(path.join(packageFolder, 'package.json'), 'utf8')) as {
    name: string
    version: string
    license?: string
  }
  const files = (await readdir(packageFolder))
    .filter((name) => /^(?:licen[cs]e|copying|notice)/i.test(name))
    .toSorted()
  const texts = await Promise.all(files.map((name) => readFile(path.join(packageFolder, name), 'utf8')))
  return `${manifest.name} ${manifest.version}: ${manifest.license ?? 'see below'}\n\n${texts.join('\n\n')}`
}
