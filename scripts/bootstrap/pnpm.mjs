import path from 'node:path'
import process from 'node:process'

/** Holds the manifest and the lockfile of pnpm alone, below the root. */
export const PNPM_FOLDER = path.join('scripts', 'bootstrap', 'pnpm')

/** pnpm is one program for each platform, in a package of its own. */
export const pnpmPackage = () => `@pnpm/exe.${process.platform}-${process.arch}`

/** @param {string} root */
export const pnpmProgram = (root) => path.join(root, PNPM_FOLDER, 'node_modules', pnpmPackage(), 'pnpm')
