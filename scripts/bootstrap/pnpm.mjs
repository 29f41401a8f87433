import path from 'node:path'
import process from 'node:process'

/** The folder with the manifest and lockfile of pnpm, relative to the root. */
export const PNPM_FOLDER = path.join('scripts', 'bootstrap', 'pnpm')

/** Returns the package of pnpm for this platform. */
export const pnpmPackage = () => `@pnpm/exe.${process.platform}-${process.arch}`

/** @param {string} root */
export const pnpmProgram = (root) => path.join(root, PNPM_FOLDER, 'node_modules', pnpmPackage(), 'pnpm')
