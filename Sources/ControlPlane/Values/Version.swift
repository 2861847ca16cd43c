/// The version of the product, as `cutover version` prints it.
package let productVersion = "0.1.0"
